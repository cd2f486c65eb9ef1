import importlib.util, numpy as np, sys, eagre
spec=importlib.util.spec_from_file_location('g','tests/gpu/test_shallow_water_gpu.py'); g=importlib.util.module_from_spec(spec); spec.loader.exec_module(g)
a=g.forced('cuda','double'); b=g.forced('cpu','double'); c=g.forced('cuda','double')
for t in (0.05,0.1,0.3,1.0,2.5,3.0):
    a.advance(t); b.advance(t); c.advance(t)
    sa,sb,sc=a.state(),b.state(),c.state()
    d=abs(sa['q']-sb['q'])[:,2:-2,2:-2]; w=np.unravel_index(d.argmax(),d.shape)
    print(t,a.steps,b.steps,'q',d.max(),w,'self',abs(sa['q']-sc['q']).max(),'forcing',abs(sa['forcing']-sb['forcing']).max(),'dt',sa['clock'][1]-sb['clock'][1],'redone',sa['clock'][4],sb['clock'][4],flush=True)
    gd=abs(sa['q']-sb['q']).max(axis=0); print('  ghost diff W',gd[2:-2,:2].max(),'E',gd[2:-2,-2:].max(),'S',gd[:2,2:-2].max(),'N',gd[-2:,2:-2].max())
