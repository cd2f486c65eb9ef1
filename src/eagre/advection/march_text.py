"""The text of MPDATA's march on a GPU (`march_cuda`): loops over fields f, rows r and columns c of a thread.

Quantities of a thread's points are written as arrays, ``p0[f, r, c]``, and become single variables when the loops are
written out. In names 0 is of plane t, 1 of t - 1, 2 of t - 2; d is what is to be done with the plane before.

======================= ==========================================================================================
p, pw, ps               the field after the donor cell; west and south of here
dx, dy, dz, bx, by, bz  differences and sums of the two neighbours of `p` along an axis
s1, s2, s3              sums of the two faces of a point
w                       v3 at the face below plane t (0) and above it (1)
h, rh                   density times Jacobian and one over it
pm, pl, hm, lm          largest and smallest value of a point and its neighbours
a1, a2, a3, a2e         corrective fluxes through the faces west, south, below, north
up, down                shares of what flows in and out that a point stands
low, net                the flux from below in the first pass; what leaves but for the top in the second
======================= ==========================================================================================

What is written as a call and is none stands for something longer (`march_words`).
"""

from __future__ import annotations

from textwrap import indent

from eagre.advection.march_begin import BEGIN, BRING, LOAD, NEAR, NEXT, START, TAKE
from eagre.advection.march_words import in_full

# The donor cell: plane t.
FIRST = """
            if first and t < stop:
                NEAR_TURN
                for r in range(ROWS):
                    for c in range(COLUMNS):
                        v1e[r, c] = east(v1[r, c])
                        v2e[r, c] = v2[r + 1, c] if r < ROWS - 1 else v2u[c]
                        rh0[r, c] = reciprocal(h0[r, c]) if VARIABLE_H else real(1.0)
                        s1_0[r, c], s2_0[r, c] = v1[r, c] + v1e[r, c], v2[r, c] + v2e[r, c]
                        s3_0[r, c] = w0[r, c] + w1[r, c]
                        for f in range(FIELDS):
                            xw = west(x[f, r, c])
                            xe = east(x[f, r, c])
                            xs = x[f, r - 1, c] if r > 0 else xd[f, c]
                            xo = x[f, r + 1, c] if r < ROWS - 1 else xu[f, c]
                            top = donor_flux(x[f, r, c], xn[f, r, c], w1[r, c])
                            net = donor_flux(x[f, r, c], xe, v1e[r, c]) - donor_flux(xw, x[f, r, c], v1[r, c])
                            net += donor_flux(x[f, r, c], xo, v2e[r, c]) - donor_flux(xs, x[f, r, c], v2[r, c])
                            net += top - low[f, r, c]
                            p0[f, r, c] = x[f, r, c] - net * rh0[r, c]
                            if LIMITED:
                                pm[f, r, c] = larger(larger(xb[f, r, c], xn[f, r, c]), x[f, r, c])
                                pm[f, r, c] = larger(larger(larger(xw, xe), larger(xs, xo)), pm[f, r, c])
                                pl[f, r, c] = smaller(smaller(xb[f, r, c], xn[f, r, c]), x[f, r, c])
                                pl[f, r, c] = smaller(smaller(smaller(xw, xe), smaller(xs, xo)), pl[f, r, c])
                            low[f, r, c] = top
                for r in range(ROWS):
                    for c in range(COLUMNS):
                        for f in range(FIELDS):
                            pw[f, r, c] = west(p0[f, r, c])
                            pe = east(p0[f, r, c])
                            dx0[f, r, c] = magnitude(pe) - magnitude(pw[f, r, c])
                            dz1[f, r, c] = magnitude(p0[f, r, c]) - magnitude(p2[f, r, c])
                            if not GAUGE:
                                bx0[f, r, c] = magnitude(pe) + magnitude(pw[f, r, c])
                                bz1[f, r, c] = magnitude(p0[f, r, c]) + magnitude(p2[f, r, c])
                            if LIMITED:
                                pm[f, r, c] = larger(pm[f, r, c], larger(larger(pw[f, r, c], pe), p0[f, r, c]))
                                pl[f, r, c] = smaller(pl[f, r, c], smaller(smaller(pw[f, r, c], pe), p0[f, r, c]))
                for c in range(COLUMNS):
                    for f in range(FIELDS):
                        publish(P_FIRST, p0[f, 0, c])
                        if ROWS > 1:
                            publish(P_LAST, p0[f, ROWS - 1, c])
                        publish(DX, dx1[f, ROWS - 1, c])
                        publish(DZ, dz1[f, ROWS - 1, c])
                        if not GAUGE:
                            publish(BX, bx1[f, ROWS - 1, c])
                            publish(BZ, bz1[f, ROWS - 1, c])
                    publish_once(S1, s1_1[ROWS - 1, c])
                    publish_once(S3, s3_1[ROWS - 1, c])
                    if VARIABLE_H:
                        publish_once(HS, h1[ROWS - 1, c])
            else:
                forget_columns(rh0, s1_0, s2_0, s3_0)
                forget(p0, pw, dx0, bx0, dz1, bz1, pm, pl, low)
            cuda.syncthreads()
"""
# Corrective fluxes: through the faces below plane t, and along x and y in plane t - 1.
FLUXES = """
            if second and t < stop:
                for r in range(ROWS):
                    for c in range(COLUMNS):
                        for f in range(FIELDS):
                            ps[f, r, c] = south(p0[f, r, c], P_LAST)
                            po = north(p0[f, r, c], P_FIRST)
                            dy0[f, r, c] = magnitude(po) - magnitude(ps[f, r, c])
                            if not GAUGE:
                                by0[f, r, c] = magnitude(po) + magnitude(ps[f, r, c])
                            if LIMITED:
                                pm[f, r, c] = larger(pm[f, r, c], larger(ps[f, r, c], po))
                                pl[f, r, c] = smaller(pl[f, r, c], smaller(ps[f, r, c], po))
                for r in range(ROWS):
                    for c in range(COLUMNS):
                        over = over_mean(h1[r, c], h0[r, c]) if VARIABLE_H else real(1.0)
                        for f in range(FIELDS):
                            v = crossed_velocity(
                                w0[r, c], over, magnitude(p1[f, r, c]), magnitude(p0[f, r, c]),
                                cross_terms(
                                    s1_1[r, c] + s1_0[r, c], dx1[f, r, c] + dx0[f, r, c], bx1[f, r, c] + bx0[f, r, c],
                                    s2_1[r, c] + s2_0[r, c], dy1[f, r, c] + dy0[f, r, c], by1[f, r, c] + by0[f, r, c],
                                ),
                            )
                            if OPEN:
                                v *= faces.along_k.passable[np.uint32(t + EDGE)]
                            a3[f, r, c] = corrective_flux(p1[f, r, c], p0[f, r, c], v)
                if t >= k0:
                    for r in range(ROWS):
                        for c in range(COLUMNS):
                            s2w = west(s2_1[r, c])
                            s3w = west(s3_1[r, c])
                            over = real(1.0)
                            if VARIABLE_H:
                                hw = west(h1[r, c])
                                over = over_mean(hw, h1[r, c])
                            for f in range(FIELDS):
                                dyw = west(dy1[f, r, c])
                                dzw = west(dz1[f, r, c])
                                byw, bzw = real(0.0), real(0.0)
                                if not GAUGE:
                                    byw = west(by1[f, r, c])
                                    bzw = west(bz1[f, r, c])
                                v = crossed_velocity(
                                    v1_1[r, c], over, magnitude(pw1[f, r, c]), magnitude(p1[f, r, c]),
                                    cross_terms(
                                        s2w + s2_1[r, c], dyw + dy1[f, r, c], byw + by1[f, r, c],
                                        s3w + s3_1[r, c], dzw + dz1[f, r, c], bzw + bz1[f, r, c],
                                    ),
                                )
                                if OPEN:
                                    v *= pass1[c]
                                a1[f, r, c] = corrective_flux(pw1[f, r, c], p1[f, r, c], v)
                            s1s = south(s1_1[r, c], S1)
                            s3s = south(s3_1[r, c], S3)
                            if VARIABLE_H:
                                hs = south(h1[r, c], HS)
                                over = over_mean(hs, h1[r, c])
                            for f in range(FIELDS):
                                dxs = south(dx1[f, r, c], DX)
                                dzs = south(dz1[f, r, c], DZ)
                                bxs, bzs = real(0.0), real(0.0)
                                if not GAUGE:
                                    bxs = south(bx1[f, r, c], BX)
                                    bzs = south(bz1[f, r, c], BZ)
                                v = crossed_velocity(
                                    v2_1[r, c], over, magnitude(ps1[f, r, c]), magnitude(p1[f, r, c]),
                                    cross_terms(
                                        s1s + s1_1[r, c], dxs + dx1[f, r, c], bxs + bx1[f, r, c],
                                        s3s + s3_1[r, c], dzs + dz1[f, r, c], bzs + bz1[f, r, c],
                                    ),
                                )
                                if OPEN:
                                    v *= pass2[r]
                                a2[f, r, c] = corrective_flux(ps1[f, r, c], p1[f, r, c], v)
                                if r == 0:
                                    publish(A2, a2[f, 0, c])
                else:
                    forget(a1, a2)
            else:
                forget(ps, dy0, by0, pm, pl, a3, a1, a2)
            if first:
                NEXT_TURN
            if AHEAD > 1:
                copies_arrived_but_last()
            else:
                copies_arrived()
            cuda.syncthreads()
"""
# What points of plane t - 1 stand; the rows of the next plane for the warps beside this one.
SHARES = """
            if middle and t > k0:
                for r in range(ROWS):
                    for c in range(COLUMNS):
                        for f in range(FIELDS):
                            a2e[f, r, c] = north(a2[f, r, c], A2)
                            if LIMITED:
                                a1e = east(a1[f, r, c])
                                most = larger(hm1[f, r, c], larger(p2[f, r, c], p0[f, r, c]))
                                least = smaller(lm1[f, r, c], smaller(p2[f, r, c], p0[f, r, c]))
                                enters, leaves = flows(
                                    a1[f, r, c], a1e, a2[f, r, c], a2e[f, r, c], a3_1[f, r, c], a3[f, r, c]
                                )
                                up1[f, r, c] = share_of((most - p1[f, r, c]) * h1[r, c], enters)
                                down1[f, r, c] = share_of((p1[f, r, c] - least) * h1[r, c], leaves)
                if LIMITED:
                    for c in range(COLUMNS):
                        for f in range(FIELDS):
                            publish(UP_FIRST, up1[f, 0, c])
                            publish(DOWN_FIRST, down1[f, 0, c])
                            if ROWS > 1:
                                publish(UP_LAST, up1[f, ROWS - 1, c])
                                publish(DOWN_LAST, down1[f, ROWS - 1, c])
            else:
                forget(a2e, up1, down1)
"""
# Limited fluxes of plane t - 1; plane t - 2 is done.
SECOND = """
            if third and t > k0:
                for r in range(ROWS):
                    for c in range(COLUMNS):
                        for f in range(FIELDS):
                            if LIMITED:
                                upw = west(up1[f, r, c])
                                downw = west(down1[f, r, c])
                                d1[f, r, c] *= limiter(d1[f, r, c], upw, downw, up1[f, r, c], down1[f, r, c])
                                ups = south(up1[f, r, c], UP_LAST)
                                downs = south(down1[f, r, c], DOWN_LAST)
                                d2[f, r, c] *= limiter(d2[f, r, c], ups, downs, up1[f, r, c], down1[f, r, c])
                                d3[f, r, c] *= limiter(
                                    d3[f, r, c], up2[f, r, c], down2[f, r, c], up1[f, r, c], down1[f, r, c]
                                )
                                if r == ROWS - 1:
                                    upo = above(UP_FIRST)
                                    downo = above(DOWN_FIRST)
                                    d2e[f, r, c] *= limiter(d2e[f, r, c], up1[f, r, c], down1[f, r, c], upo, downo)
                for r in range(ROWS):
                    for c in range(COLUMNS):
                        for f in range(FIELDS):
                            a1e = east(d1[f, r, c])
                            a2o = d2[f, r + 1, c] if r < ROWS - 1 else d2e[f, r, c]
                            whole = d0[f, r, c] - (net2[f, r, c] + d3[f, r, c]) * dh[r, c]
                            net2[f, r, c] = ((a1e - d1[f, r, c]) + (a2o - d2[f, r, c])) - d3[f, r, c]
                            if t > complete and stored[c] and kept[r]:
                                to = np.uint32(np.uint32(j + (r - EDGE)) * nx + np.uint32(i + (c - EDGE)))
                                flat_store(fields[f].out, np.uint32(np.uint32(t - 3) * plane + to), 0, whole)
            else:
                forget(net2)
            for r in range(ROWS):
                for c in range(COLUMNS):
                    for f in range(FIELDS):
                        up2[f, r, c], down2[f, r, c] = up1[f, r, c], down1[f, r, c]
"""
# On to the next plane.
TURN = """
            for r in range(ROWS):
                for c in range(COLUMNS):
                    dh[r, c] = rh2[r, c]
                    v1_1[r, c], v2_1[r, c] = v1[r, c], v2[r, c]
                    w0[r, c], h1[r, c] = w1[r, c], h0[r, c]
                    rh2[r, c], rh1[r, c] = rh1[r, c], rh0[r, c]
                    s1_1[r, c], s2_1[r, c], s3_1[r, c] = s1_0[r, c], s2_0[r, c], s3_0[r, c]
                    for f in range(FIELDS):
                        d1[f, r, c], d2[f, r, c], d2e[f, r, c] = a1[f, r, c], a2[f, r, c], a2e[f, r, c]
                        d3[f, r, c] = a3_1[f, r, c]
                        d0[f, r, c], a3_1[f, r, c] = p2[f, r, c], a3[f, r, c]
                        xb[f, r, c], x[f, r, c] = x[f, r, c], xn[f, r, c]
                        p2[f, r, c], p1[f, r, c] = p1[f, r, c], p0[f, r, c]
                        pw1[f, r, c], ps1[f, r, c] = pw[f, r, c], ps[f, r, c]
                        dx1[f, r, c], dy1[f, r, c] = dx0[f, r, c], dy0[f, r, c]
                        bx1[f, r, c], by1[f, r, c] = bx0[f, r, c], by0[f, r, c]
                        hm1[f, r, c], lm1[f, r, c] = pm[f, r, c], pl[f, r, c]
"""
NEXT_PLANE = """
            t = np.int32(t + 1)
"""
# One plane of the loop, and the loop with as many as are written out.
AGAIN = """
            for turn in range(RING):
                if turn > 0:
                    if t > stop:
                        break
"""
PLANE_BY_PLANE = indent("".join((SHARES, TURN, LOAD, FIRST, SECOND, FLUXES, NEXT_PLANE)), "    ")
PARTS = {"BRING": BRING, "TAKE": TAKE, "NEAR": NEAR, "NEXT": NEXT}
TEXT = in_full(BEGIN + START + AGAIN + PLANE_BY_PLANE, PARTS).strip()
"""The kernel as `eagre.backend.unrolled.unrolled` takes it."""
