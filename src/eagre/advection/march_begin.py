"""The text of MPDATA's march on a GPU, first part: where a thread is, what memory brings, how a march begins.

See `march_text`.
"""

BEGIN = """
def mpdata_cuda(fields, faces, sizes, tiles):
    nz, ny, nx = np.uint32(sizes[0]), np.uint32(sizes[1]), np.uint32(sizes[2])
    plane, plane1, plane2 = np.uint32(ny * nx), np.uint32(ny * (nx + 1)), np.uint32((ny + 1) * nx)
    s = cuda.shared.array(0, word)
    lane, warp = np.uint32(cuda.threadIdx.x), np.uint32(cuda.threadIdx.y)
    at = np.uint32(warp * np.uint32(WIDTH) + lane)
    raw = np.uint32(warp * np.uint32(ROWS * WIDTH) + lane)
    work, block = np.uint32(tiles[0]) * nz, np.uint32(cuda.blockIdx.x)
    piece = work // np.uint32(cuda.gridDim.x)
    more = work - piece * np.uint32(cuda.gridDim.x)
    done = block * piece + min(block, more)
    end = done + piece + (np.uint32(1) if block < more else np.uint32(0))
    while done < end:
        tile = done // nz
        k0 = np.int32(done - tile * nz)
        k1 = np.int32(min(np.uint32(k0) + (end - done), nz))
        done += np.uint32(k1 - k0)
        above = tile // np.uint32(tiles[1])
        i0 = np.int32((tile - above * np.uint32(tiles[1])) * np.uint32(WIDTH - 2 * EDGE))
        j0 = np.int32(above * np.uint32(HEIGHT - 2 * EDGE))
        i, j = np.int32(i0 + lane * COLUMNS), np.int32(j0 + warp * ROWS)  # places of the tables
        wide = np.int32(min(np.int32(nx) - i0, WIDTH - 2 * EDGE))
        high = np.int32(min(np.int32(ny) - j0, HEIGHT - 2 * EDGE))
        row = np.int32(warp * np.uint32(ROWS))
        first = needed(row + (ROWS - 1) >= 1 and row < high + 2 * EDGE - 1)
        second = needed(row + (ROWS - 1) >= 2 and row < high + 2 * EDGE - 1)
        middle = needed(row + (ROWS - 1) >= 2 and row < high + 2 * EDGE - 2)
        third = needed(row + (ROWS - 1) >= EDGE and row < high + EDGE)
        for r in range(ROWS):
            kept[r] = row + r >= EDGE and row + r < high + EDGE
            jt = np.uint32(min(j + r, np.int32(ny) + 2 * EDGE))
            for c in range(COLUMNS):
                column = np.int32(lane * np.uint32(COLUMNS) + np.uint32(c))
                stored[c] = column >= EDGE and column < wide + EDGE
                it = np.uint32(min(i + c, np.int32(nx) + 2 * EDGE))
                jp, ip = np.uint32(faces.along_j.jacobian.place[jt]), np.uint32(faces.along_i.jacobian.place[it])
                ox[r, c] = np.uint32(jp * nx + ip)
                o1[r, c] = np.uint32(jp * (nx + np.uint32(1)) + np.uint32(faces.along_i.along.place[it]))
                o2[r, c] = np.uint32(np.uint32(faces.along_j.along.place[jt]) * nx + ip)
                if MIRRORED:
                    f1[r, c] = faces.along_j.across.factor[jt] * faces.along_i.along.factor[it]
                    f2[r, c] = faces.along_j.along.factor[jt] * faces.along_i.across.factor[it]
                    for f in range(FIELDS):
                        fx[f, r, c] = fields[f].along_j.factor[jt] * fields[f].along_i.factor[it]
                    if r == 0:
                        js, jn = np.uint32(max(j - 1, 0)), np.uint32(min(j + ROWS, np.int32(ny) + 2 * EDGE))
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
# Asks for what plane b brings: the field of plane b + 1, the advector through its sides and its top, h.
BRING = """
for r in range(ROWS):
    for c in range(COLUMNS):
        for f in range(FIELDS):
            bring(RING * f + SLOT, fields[f].x, kn * plane + ox[r, c])
        bring(V1 + SLOT, faces.v1, kp * plane1 + o1[r, c])
        bring(V2 + SLOT, faces.v2, kp * plane2 + o2[r, c])
        bring(V3 + SLOT, faces.v3, kf * plane + ox[r, c])
        if VARIABLE_H:
            bring(H + SLOT, faces.h, kp * plane + ox[r, c])
kp = kn
kn = np.uint32(faces.along_k.jacobian.place[np.uint32(b + (2 + EDGE))])
kf = np.uint32(faces.along_k.along.place[np.uint32(b + (2 + EDGE))])
"""
# The thread's own numbers of what plane t brought.
TAKE = """
for r in range(ROWS):
    for c in range(COLUMNS):
        v1[r, c] = arrived(V1 + SLOT)
        v2[r, c] = arrived(V2 + SLOT)
        w1[r, c] = arrived(V3 + SLOT)
        h0[r, c] = arrived(H + SLOT) if VARIABLE_H else real(1.0)
        if MIRRORED:
            v1[r, c] *= f1[r, c]
            v2[r, c] *= f2[r, c]
        if OPEN:
            w1[r, c] *= f3[r, c]
        for f in range(FIELDS):
            xn[f, r, c] = arrived(RING * f + SLOT)
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
# What the warps below and above have of v2 of plane t.
NEAR = """
for c in range(COLUMNS):
    v2u[c] = arrived_above(V2 + SLOT)
    if MIRRORED:
        v2u[c] *= f2n[c]
        if beyond:
            v2u[c] *= across
"""
# What the warps below and above have of the field of plane t + 1.
NEXT = """
for c in range(COLUMNS):
    for f in range(FIELDS):
        xd[f, c] = arrived_below(RING * f + SLOT)
        xu[f, c] = arrived_above(RING * f + SLOT)
        if MIRRORED:
            xd[f, c] *= fxs[f, c]
            xu[f, c] *= fxn[f, c]
            if OPEN:
                xd[f, c] += fos[f, c]
                xu[f, c] += fon[f, c]
            if beyond:
                ku = np.uint32(t + (1 + EDGE))
                xd[f, c] = fields[f].along_k.factor[ku] * xd[f, c] + fields[f].along_k.outside[ku]
                xu[f, c] = fields[f].along_k.factor[ku] * xu[f, c] + fields[f].along_k.outside[ku]
"""
# What a march begins with: planes t - 1 and t of fields, faces t of v3.
START = """
        highest = np.int32(np.int32(nz) - 1)
        kt = np.uint32(k0)
        kp = np.uint32(faces.along_k.jacobian.place[kt])
        kn = np.uint32(faces.along_k.jacobian.place[kt + np.uint32(1)])
        kf = np.uint32(faces.along_k.along.place[kt + np.uint32(1)])
        for r in range(ROWS):
            for c in range(COLUMNS):
                for f in range(FIELDS):
                    xb[f, r, c] = flat_load(fields[f].x, np.uint32(kp * plane + ox[r, c]), 0)
                    if MIRRORED:
                        xb[f, r, c] *= fx[f, r, c]
                    if OPEN:
                        xb[f, r, c] += fo[f, r, c]
                    if MIRRORED:
                        xb[f, r, c] = fields[f].along_k.factor[kt] * xb[f, r, c] + fields[f].along_k.outside[kt]
        b = np.int32(k0 - 3)
        BRING_BEFORE
        for n in range(AHEAD):
            b = np.int32(k0 + (n - 2))
            BRING_EACH
        copies_arrived()
        cuda.syncthreads()
        t, stop, complete = np.int32(k0 - 3), np.int32(k1 + 2), np.int32(k0 + 2)
        TAKE_BEFORE
        NEXT_BEFORE
        cuda.syncthreads()
        t = np.int32(k0 - 2)
        for r in range(ROWS):
            for c in range(COLUMNS):
                h0[r, c], h1[r, c], rh0[r, c], rh1[r, c] = real(1.0), real(1.0), real(1.0), real(1.0)
                rh2[r, c], v1[r, c], v2[r, c] = real(1.0), real(0.0), real(0.0)
                for f in range(FIELDS):
                    x[f, r, c] = xb[f, r, c]
                    low[f, r, c] = donor_flux(xb[f, r, c], xn[f, r, c], w1[r, c])
        clear_columns(s1_0, s2_0, s3_0, s1_1, s2_1, s3_1)
        clear(p0, pw, ps, dx0, dy0, bx0, by0, pm, pl, p1, p2, pw1, ps1, dx1, dy1, bx1, by1, dz1, bz1, hm1, lm1)
        clear(a1, a2, a2e, a3, a3_1, up1, down1, up2, down2, net2)
        while t <= stop:
"""
LOAD = """
            b = np.int32(t + AHEAD)
            if b < stop:
                BRING_NEW
            if AHEAD > 1:
                copies_in_group()
            TAKE_TURN
"""
