import sys, time, os
from functools import partial
maxreg=int(sys.argv[1]); what=sys.argv[2]
os.environ['EAGRE_CACHE']=f'/tmp/ec{maxreg}'
import numpy as np
import eagre.backend.cuda as C
if maxreg:
    C.driver=partial(C.driver,max_registers=maxreg)
from eagre import *
from eagre.backend.device import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.models.shallow_water import march_cuda, engine as EN
dev=select('cuda')
def build(N,pr,scheme,device='cuda',M=None,**kw):
    M=M or N
    g=Grid(M,N,1.,1.);x,y=g.mesh();xc,yc=g.mesh('corner')
    bed=0.1*np.sin(7*xc/N)*np.cos(5*yc/N)
    return ShallowWater(g,bed,surface_elevation=1+.2*np.exp(-((x-N/2)**2+(y-N/2)**2)/(N/4)**2)+1e-3*np.sin(x)*np.cos(y),device=device,precision=pr,scheme=scheme,**kw)
default=march_cuda.shape_of
def bench(N,pr,scheme,rows=None,warps=4,steps=20,parts=False,**kw):
    if rows:
        march_cuda.shape_of=lambda ny,nx:((-(-nx//28),-(-ny//(rows*warps))),(32,warps),rows)
    else: march_cuda.shape_of=default
    EN.ROUND_STEPS=steps
    m=build(N,pr,scheme,manning=kw.pop('manning',.03),**kw)
    e=m._engine; e.start(1e9,2**50); e.round(); m.device.synchronize()
    s0=m.steps
    reps=max(2,int(2e8/(N*N*steps))); reps=min(reps,50)
    ts=times_of(m.device,lambda:[e.round() for _ in range(reps)],repeats=5,warm_up=1)
    n=m.steps-s0; per=min(ts)/(n/6); med=np.median(ts)/(n/6)
    extra=''
    if parts:
        for L in e.step:
            go=m.device.repeated([L],100); tt=times_of(m.device,go,repeats=3); extra+=' %.2f'%(min(tt)/100*1e6)
    print(maxreg,pr,scheme,N,'rows',rows,'warps',warps,kw,'us/step %.2f'%(per*1e6),'G/s best %.2f median %.2f'%(N*N/per/1e9,N*N/med/1e9),'redone',m.statistics()['redone_steps'],'vol',m.diagnostics()['volume_error'],'parts us',extra,flush=True)
    del m,e
    import cupy; cupy.get_default_memory_pool().free_all_blocks()

from eagre.boundaries.ghosts import boundary_pass_cuda
from eagre.backend.device import Launch
from eagre.stepping import clock as ck
import cupy
def variants(N,pr):
    march_cuda.shape_of=lambda ny,nx:((-(-nx//28),-(-ny//(64*2))),(32,2),64)
    m=build(N,pr,'rk2',manning=.03); e=m._engine; e.start(1e9,2**50); e.round(); m.device.synchronize()
    S0,B0,S1,B1=e.step
    for old in (0,1,2,3,4):
        prog=e.device.program(march_cuda.stage_cuda,pr,{**e.switches,'GATE':0,'SECOND':True,'TAIL':ck.finish,'ROWS':64,'OLD':old})
        L=S1._replace(program=prog)
        e.device.run([L]); go=m.device.repeated([L],20); tt=times_of(m.device,go,repeats=3)
        print(N,pr,'OLD',old,'us %.1f'%(min(tt)/20*1e6),flush=True)
    # same program, separate arrays: q=b,out=b? and q=a,out=b with SECOND
    prog=e.device.program(march_cuda.stage_cuda,pr,{**e.switches,'GATE':0,'SECOND':True,'TAIL':ck.finish,'ROWS':64,'OLD':0})
    L=S0._replace(program=prog); go=m.device.repeated([L],20); tt=times_of(m.device,go,repeats=3); print('a->b SECOND us %.1f'%(min(tt)/20*1e6))
    prog=e.device.program(march_cuda.stage_cuda,pr,{**e.switches,'GATE':0,'SECOND':False,'TAIL':ck.finish,'ROWS':64})
    for nm,LL in (('a->b first',S0),('b->a first',S1)):
        L=LL._replace(program=prog); e.device.run([L]); go=m.device.repeated([L],20); tt=times_of(m.device,go,repeats=3); print(nm,'us %.1f'%(min(tt)/20*1e6))
    print('finite', np.isfinite(m.device.host(e.q[0])).all(), np.isfinite(m.device.host(e.q[1])).all(), abs(m.device.host(e.q[0][1])).max(), abs(m.device.host(e.q[1][1])).max())
    del m,e; cupy.get_default_memory_pool().free_all_blocks()
variants(8192,'single')
variants(8188,'single')
