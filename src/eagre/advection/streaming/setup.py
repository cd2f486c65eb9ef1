"""Source of the MPDATA streaming kernel, first part: thread indices, asynchronous copies, start of a column of tiles.

See `streaming_source`.
"""

BEGIN = """
def mpdata_cuda(fields, faces, sizes, tiles):
    nz, ny, nx = np.uint32(sizes[0]), np.uint32(sizes[1]), np.uint32(sizes[2])
    plane, plane1, plane2 = np.uint32(ny * nx), np.uint32(ny * (nx + 1)), np.uint32((ny + 1) * nx)
    s = cuda.shared.array(0, word)
    lane, warp = np.uint32(cuda.threadIdx.x), np.uint32(from_lane(cuda.threadIdx.y, 0))
    block, blocks = np.uint32(cuda.blockIdx.x), np.uint32(cuda.gridDim.x)
    next_tile, in_turns = np.uint32(block), np.uint32(np.uint32(tiles[0]) // blocks * blocks)
    work = np.uint32((np.uint32(tiles[0]) - in_turns) * nz)
    piece = np.uint32(work // blocks)
    more = np.uint32(work - piece * blocks)
    done = np.uint32(block * piece + min(block, more))
    end = np.uint32(done + piece + (np.uint32(1) if block < more else np.uint32(0)))
    meet(s, np.uint32(MEETING), WORKERS)
    meet(s, np.uint32(MEETING + 2), WORKERS + COPIERS)
    cuda.syncthreads()
    phase = np.uint32(0)
    if warp >= WORKERS:
        if LENDING:
            release_registers(KEPT)
        while next_tile < in_turns or done < end:
            TILE_IN_PLACE
            COPIES_IN_PLACE
    else:
        if LENDING:
            acquire_registers(TAKEN)
        while next_tile < in_turns or done < end:
            TILE_IN_PLACE
            MARCH_IN_PLACE
"""
# Planes of the next tile. The text is inserted twice: computing and copying warps have separate variables.
TILE = """
if next_tile < in_turns:
    tile, k0, k1 = next_tile, np.int32(0), np.int32(nz)
    next_tile = np.uint32(next_tile + blocks)
else:
    tile = np.uint32(done // nz)
    k0 = np.int32(done - tile * nz)
    k1 = np.int32(min(np.uint32(k0) + (end - done), nz))
    done = np.uint32(done + np.uint32(k1 - k0))
    tile = np.uint32(in_turns + tile)
above = np.uint32(tile // np.uint32(tiles[1]))
i0 = np.int32((tile - above * np.uint32(tiles[1])) * np.uint32(WIDTH - 2 * EDGE))
j0 = np.int32(above * np.uint32(HEIGHT - 2 * EDGE))  # positions in the tables
begin = np.uint32(max(i0 - EDGE, 0))  # first point, and first point beyond the periodic end
again = np.uint32(faces.along_i.jacobian.indices[0] if i0 == 0 else 0)
again1 = np.uint32(faces.along_i.along.indices[0] if i0 == 0 else 0)
t, stop, complete = np.int32(k0 - 3), np.int32(k1 + 2), np.int32(k0 + 2)
"""
# Copying warps: source addresses of the copies in a plane. Columns from the other end of a periodic axis, a tenth of
# the data, are copied only for tiles at an end of the axis. Copies of single values always include them: the addresses
# of their destinations are computed and need no registers.
SOURCES = """
who = np.uint32(np.uint32(warp - np.uint32(WORKERS)) * np.uint32(LANES) + lane)
ends = i0 == 0 or np.uint32(i0 + WIDTH) > nx  # otherwise no column comes from the other end of the axis
kp = np.int64(faces.along_k.jacobian.indices[np.uint32(max(k0 - 1, 0))])
kn = np.int64(faces.along_k.jacobian.indices[np.uint32(k0)])
kf = np.int64(faces.along_k.along.indices[np.uint32(k0)])
for n in range(COPIES):
    chunk = np.uint32(who + np.uint32(n * COPIERS * LANES))
    line, part = np.uint32(chunk // np.uint32(PARTS)), np.uint32(chunk % np.uint32(PARTS))
    there[n] = line < HEIGHT
    if SEVERAL > 1:
        if not there[n]:
            chunk = np.uint32(chunk - np.uint32(HEIGHT * MAIN))
            line, part = np.uint32(chunk // np.uint32(MORE)), np.uint32(np.uint32(MAIN) + chunk % np.uint32(MORE))
            there[n] = ends and line < HEIGHT
        to[n] = np.int64(line * np.uint32(PITCH) + part * np.uint32(SEVERAL))
    else:
        to[n] = np.int64(who) + n * COPIERS * LANES
    jt = np.uint32(min(np.int32(j0 + np.int32(line)), np.int32(ny) + 2 * EDGE))
    jp, jf = np.uint32(faces.along_j.jacobian.indices[jt]), np.uint32(faces.along_j.along.indices[jt])
    ox = np.int64(source_of(np.uint32(jp * nx), begin, again, part, plane))
    o1 = np.int64(source_of(np.uint32(jp * (nx + np.uint32(1))), begin, again1, part, plane1))
    o2 = np.int64(source_of(np.uint32(jf * nx), begin, again, part, plane2))
    for f in range(FIELDS):
        px[f, n] = address_at(fields[f].x, kn * np.int64(plane) + ox)
    p1[n] = address_at(faces.v1, kp * np.int64(plane1) + o1)
    p2[n] = address_at(faces.v2, kp * np.int64(plane2) + o2)
    p3[n] = address_at(faces.v3, kf * np.int64(plane) + ox)
    if VARIABLE_H:
        ph[n] = address_at(faces.h, kp * np.int64(plane) + ox)
b, slot = np.int32(k0 - 4), np.uint32(0)
while t <= stop:
    while b < min(t + (AHEAD + 1), stop):
        BRING_IN_PLACE
        b, slot = np.int32(b + 1), np.uint32(slot + 1 if slot < np.uint32(RING - 1) else 0)
    if t < k0 - 2:
        copies_arrived()
        cuda.syncthreads()
        cuda.syncthreads()
    else:
        if AHEAD > 1:
            copies_in_group()
        stand_aside()
        if AHEAD > 1:
            copies_arrived_but_last()
        else:
            copies_arrived()
        warp_arrive(s, np.uint32(MEETING + 2))
        mbarrier_wait(s, np.uint32(MEETING + 2), phase)
        phase = np.uint32(phase ^ np.uint32(1))
    t = np.int32(t + 1)
"""
# Position of a thread, and offsets of its values in the copied data.
PLACES = """
at = np.uint32(warp * np.uint32(WIDTH) + lane)
row = np.int32(np.int32(warp) * ROWS + 1)
i, j = np.int32(i0 + np.int32(lane) * COLUMNS), np.int32(j0 + row)
wide = np.int32(min(np.int32(nx) - i0, WIDTH - 2 * EDGE))
high = np.int32(min(np.int32(ny) - j0, HEIGHT - 2 * EDGE))
for r in range(ROWS):
    kept[r] = row + r >= EDGE and row + r < high + EDGE
    jt = np.uint32(min(j + r, np.int32(ny) + 2 * EDGE))
    jp = np.uint32(faces.along_j.jacobian.indices[jt])
    for c in range(COLUMNS):
        column = np.int32(np.int32(lane) * COLUMNS + c)
        stored[c] = column >= EDGE and column < wide + EDGE
        it = np.uint32(min(i + c, np.int32(nx) + 2 * EDGE))
        ip, i1 = np.uint32(faces.along_i.jacobian.indices[it]), np.uint32(faces.along_i.along.indices[it])
        lines = np.uint32(warp * np.uint32(ROWS * PITCH))
        if r == 0:
            rx[c] = np.uint32(lines + copied_offset(np.uint32(jp * nx), begin, again, ip))
        r1[r, c] = np.uint32(lines + copied_offset(np.uint32(jp * (nx + np.uint32(1))), begin, again1, i1))
        if MIRRORED:
            f1[r, c] = faces.along_j.across.factor[jt] * faces.along_i.along.factor[it]
            f2[r, c] = faces.along_j.along.factor[jt] * faces.along_i.across.factor[it]
            for f in range(FIELDS):
                fx[f, r, c] = fields[f].along_j.factor[jt] * fields[f].along_i.factor[it]
            if r == 0:
                js = np.uint32(min(max(j - 1, 0), np.int32(ny) + 2 * EDGE))
                jn = np.uint32(min(j + ROWS, np.int32(ny) + 2 * EDGE))
                f2n[c] = faces.along_j.along.factor[jn] * faces.along_i.across.factor[it]
                for f in range(FIELDS):
                    g = fields[f]
                    fxs[f, c] = g.along_j.factor[js] * g.along_i.factor[it]
                    fxn[f, c] = g.along_j.factor[jn] * g.along_i.factor[it]
                    if OPEN:
                        fos[f, c] = g.along_j.factor[js] * g.along_i.outside[it] + g.along_j.outside[js]
                        fon[f, c] = g.along_j.factor[jn] * g.along_i.outside[it] + g.along_j.outside[jn]
        if OPEN:
            f3[r, c] = faces.along_j.across.factor[jt] * faces.along_i.across.factor[it]
            pass1[c], pass2[r] = faces.along_i.passable[it], faces.along_j.passable[jt]
            for f in range(FIELDS):
                g = fields[f]
                fo[f, r, c] = g.along_j.factor[jt] * g.along_i.outside[it] + g.along_j.outside[jt]
"""
# Copies of plane b: the field of plane b + 1, the advector at the lateral faces and the upper face of plane b, and h.
BRING = """
kq = np.int64(faces.along_k.jacobian.indices[np.uint32(b + (2 + EDGE))])
kg = np.int64(faces.along_k.along.indices[np.uint32(b + (2 + EDGE))])
new = np.int64(slot * np.uint32(ARRAYS * RAW))
for n in range(COPIES):
    if (n + 1) * COPIERS * LANES <= HEIGHT * PARTS or there[n]:
        for f in range(FIELDS):
            bring(f, px[f, n])
        bring(V1, p1[n])
        bring(V2, p2[n])
        bring(V3, p3[n])
        if VARIABLE_H:
            bring(H, ph[n])
for n in range(COPIES):
    for f in range(FIELDS):
        px[f, n] += bytes_of(fields[f].x, (kq - kn) * np.int64(plane))
    p1[n] += bytes_of(faces.v1, (kn - kp) * np.int64(plane1))
    p2[n] += bytes_of(faces.v2, (kn - kp) * np.int64(plane2))
    p3[n] += bytes_of(faces.v3, (kg - kf) * np.int64(plane))
    if VARIABLE_H:
        ph[n] += bytes_of(faces.h, (kn - kp) * np.int64(plane))
kp, kn, kf = kn, kq, kg
"""
# Values of the thread in the copied data of plane t.
TAKE = """
for r in range(ROWS):
    for c in range(COLUMNS):
        v1[r, c] = arrived_beside(V1 + SLOT)
        v2[r, c] = arrived(V2 + SLOT)
        w1[r, c] = arrived(V3 + SLOT)
        h0[r, c] = arrived(H + SLOT) if VARIABLE_H else real(1.0)
        if MIRRORED:
            v1[r, c] *= f1[r, c]
            v2[r, c] *= f2[r, c]
        if OPEN:
            w1[r, c] *= f3[r, c]
        for f in range(FIELDS):
            xn[f, r, c] = arrived(f + SLOT)
            if MIRRORED:
                xn[f, r, c] *= fx[f, r, c]
            if OPEN:
                xn[f, r, c] += fo[f, r, c]
if MIRRORED:
    beyond = t < 0 or t >= highest
    if beyond:
        ku, kt = np.uint32(t + (1 + EDGE)), np.uint32(max(t + EDGE, 0))
        along, across = faces.along_k.along.factor[ku], faces.along_k.across.factor[kt]
        for r in range(ROWS):
            for c in range(COLUMNS):
                v1[r, c] *= across
                v2[r, c] *= across
                w1[r, c] *= along
                for f in range(FIELDS):
                    xn[f, r, c] = fields[f].along_k.factor[ku] * xn[f, r, c] + fields[f].along_k.outside[ku]
"""
# v2 of plane t at the row of the warp above.
NEAR = """
for c in range(COLUMNS):
    v2u[c] = arrived_above(V2 + SLOT)
    if MIRRORED:
        v2u[c] *= f2n[c]
        if beyond:
            v2u[c] *= across
"""
# Field of plane t at the rows of the warps below and above; the field was copied with the previous plane.
BESIDE = """
if MIRRORED:
    outside = t < 0 or t > highest
for c in range(COLUMNS):
    for f in range(FIELDS):
        xd[f, c] = arrived_below(f + SLOT)
        xu[f, c] = arrived_above(f + SLOT)
        if MIRRORED:
            xd[f, c] *= fxs[f, c]
            xu[f, c] *= fxn[f, c]
            if OPEN:
                xd[f, c] += fos[f, c]
                xu[f, c] += fon[f, c]
            if outside:
                kt = np.uint32(t + EDGE)
                xd[f, c] = fields[f].along_k.factor[kt] * xd[f, c] + fields[f].along_k.outside[kt]
                xu[f, c] = fields[f].along_k.factor[kt] * xu[f, c] + fields[f].along_k.outside[kt]
"""
# Initial values of a tile: planes t - 1 and t of the fields, faces t of v3.
START = """
turn, before = np.uint32(0), np.uint32(PLANE)
past, now = np.uint32(ARRAYS * RAW), np.uint32(2 * ARRAYS * RAW)
highest = np.int32(np.int32(nz) - 1)
cuda.syncthreads()
for r in range(ROWS):
    for c in range(COLUMNS):
        for f in range(FIELDS):
            x[f, r, c] = arrived(f)
            if MIRRORED:
                x[f, r, c] *= fx[f, r, c]
            if OPEN:
                x[f, r, c] += fo[f, r, c]
            if MIRRORED:
                kt = np.uint32(k0)
                x[f, r, c] = fields[f].along_k.factor[kt] * x[f, r, c] + fields[f].along_k.outside[kt]
TAKE_PAST
t = np.int32(k0 - 2)
cuda.syncthreads()
for r in range(ROWS):
    for c in range(COLUMNS):
        h0[r, c], rh0[r, c], rh1[r, c] = real(1.0), real(1.0), real(1.0)
        rh2[r, c], v1[r, c], v2[r, c] = real(1.0), real(0.0), real(0.0)
        for f in range(FIELDS):
            low[f, r, c] = donor_flux(x[f, r, c], xn[f, r, c], w1[r, c])
clear_columns(s1_0, s2_0, s3_0, s1_1, s2_1, s3_1)
clear(p0, pw, ps, dx0, dy0, bx0, by0, qm, ql, pm, pl, p1, p2, pw1, pw2, ps1, ps2, dx1, dy1, bx1, by1, hm1, lm1)
clear(a1, a2, a2e, a3, a3_1, d1, d2, d2e, flat, ss, sn, top, net2)
"""
