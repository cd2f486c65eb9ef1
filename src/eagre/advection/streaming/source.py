"""Source of the MPDATA streaming kernel (`streaming_cuda`): loops over fields f, rows r and columns c of a thread.

Quantities at the points of a thread are arrays in the source, ``p0[f, r, c]``, and become scalar variables when the
loops are unrolled. Suffixes: 0 for plane t, 1 for t - 1, 2 for t - 2. d1, d2, d3 are limited fluxes.

======================= ==========================================================================================
p, pw, ps               field after the donor cell at the point, and at its western and southern neighbours
dx, dy, dz, bx, by, bz  differences and sums of the two neighbours of `p` along an axis
s1, s2, s3              sums of the two faces of a point
w                       v3 at the face below plane t (0) and above it (1)
h, rh                   density times Jacobian and its inverse
qm, ql                  maximum and minimum of the values of a point before and after the donor cell
pm, pl, hm, lm          maximum and minimum over a point and its neighbours; the upper neighbour is included last
a1, a2, a3, a2e         corrective fluxes through the faces west, south, below, north
sw, se, ss, sn, top     allowed fraction of the flux through the west, east, south, north and upper face of a point
low                     flux through the lower face in the first pass
flat, net               net outflow of the second pass along x and z without the upper face; net: also along y
======================= ==========================================================================================

Macros are written as calls and replaced by `in_full`:

==================================== ======================================================================
west(q[f, r, c]), east               q of the adjacent point: from the same lane, or by a shuffle
south(q[f, r, c], Q), north          q of the adjacent row: from the same thread, or from the warp below or above,
                                     which has published its last or first row as Q
above(Q)                             the first row of the warp above
publish(Q, value), publish_once      publish this warp's row as Q, for a field or for all fields; ``Q + turn`` while
                                     ``Q + before`` is still read
own(Q), own_once                     the value that the thread has published as Q
bring(N, address)                    copy a part of array N from an address
arrived(N), arrived_below, _above    a copied value; that of the row below the thread's first, above its last
arrived_beside(N)                    the same for the flux along x, whose rows are longer
clear(q), clear_columns              0 for q of all points, of each field or of all fields
==================================== ======================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from textwrap import indent

from eagre.advection.streaming.setup import BEGIN, BESIDE, BRING, NEAR, PLACES, SOURCES, START, TAKE, TILE

# Offsets of copied data: of plane t, of the previous plane.
SLOTS = {"TURN": "now", "PAST": "past", "IN_PLACE": ""}
DEPTH = 2  # nesting depth of parts
PLACE = r"((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)"
POINT = r"(\w+)\[((?:f, )?)r, c\]"


def _moving(where: str, operand: str) -> tuple[str, str]:
    """Return the index of a thread including the plane offset, and the name, for ``NAME`` or ``NAME + turning``."""
    name, _, turning = operand.partition(" + ")
    return f"np.uint32({where} + {turning})" if turning else where, name


def _edge(fields: str, operand: str, rows: str) -> str:
    """Return the offset of a published row: of this warp, of the warp below or of the warp above."""
    where, name = _moving("at", operand)
    return f"s, {where}, ({'f' if fields else 'FIELDS'} * OWN + {name}) * PLANE + {rows}LANES * c"


def _all_points(match: re.Match[str]) -> str:
    """Return source lines that set all points of a thread to zero, for each field or for columns."""
    fields, text = not match[2], "for r in range(ROWS):\n    for c in range(COLUMNS):\n"
    text += "        for f in range(FIELDS):\n" if fields else ""
    space, index = (12, "f, r, c") if fields else (8, "r, c")
    text += "".join(f"{' ' * space}{name}[{index}] = real(0.0)\n" for name in match[3].split(", "))
    return indent(text, match[1])


def _west(m: re.Match[str]) -> str:
    return f"({m[1]}[{m[2]}r, c - 1] if c > 0 else from_lane_below({m[1]}[{m[2]}r, COLUMNS - 1], 1))"


def _east(m: re.Match[str]) -> str:
    return f"({m[1]}[{m[2]}r, c + 1] if c < COLUMNS - 1 else from_lane_above({m[1]}[{m[2]}r, 0], 1))"


def _south(m: re.Match[str]) -> str:
    return f"({m[1]}[{m[2]}r - 1, c] if r > 0 else flat_load({_edge(m[2], m[3], '')}))"


def _bring(m: re.Match[str]) -> str:
    copy = f"(s, (new + to[n]) + (BEHIND + {m[1]} * RAW), {m[2]})"
    return f"copy_16_bytes_async{copy} if SEVERAL > 1 else copy_element_async{copy}"


def _arrived(where: str, rows: str) -> Callable[[re.Match[str]], str]:
    def load(m: re.Match[str]) -> str:
        turning, name = _moving(where, m[1].replace("PAST", SLOTS["PAST"]))
        return f"flat_load(s, {turning}, BEHIND + {name} * RAW + {rows})"

    return load


LONGER: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"^( *)clear(_columns)?\((.*)\)\n", _all_points),
    (rf"\bwest\({POINT}\)", _west),
    (rf"\beast\({POINT}\)", _east),
    (rf"\bsouth\({POINT}, {PLACE}\)", _south),
    (rf"\bnorth\({POINT}, (\w+)\)", lambda m: f"({m[1]}[{m[2]}r + 1, c] if r < ROWS - 1 else above({m[3]}))"),
    (r"\babove\((\w+)\)", lambda m: f"flat_load({_edge('f', m[1], '2 * WIDTH + ')})"),
    (rf"\bown\({PLACE}\)", lambda m: f"flat_load({_edge('f', m[1], 'WIDTH + ')})"),
    (rf"\bown_once\({PLACE}\)", lambda m: f"flat_load({_edge('', m[1], 'WIDTH + ')})"),
    (
        r"\bpublish(_once)?\(([\w +]+), ",
        lambda m: f"flat_store({_edge('' if m[1] else 'f', m[2], 'WIDTH + ')}, ",
    ),
    (r"\bbring\((\w+), (.*)\)$", _bring),
    (rf"\barrived\({PLACE}\)", _arrived("rx[c]", "(r + 1) * PITCH")),
    (rf"\barrived_beside\({PLACE}\)", _arrived("r1[r, c]", "(r + 1) * PITCH")),
    (rf"\barrived_above\({PLACE}\)", _arrived("rx[c]", "(ROWS + 1) * PITCH")),
    (rf"\barrived_below\({PLACE}\)", _arrived("rx[c]", "0")),
)
"""Macros: neighbours, published rows, copied data."""


def in_full(text: str, sections: Mapping[str, str]) -> str:
    """Return the source with all parts and macros expanded.

    ``NAME_TURN`` and so on, on a separate line, is the part NAME with SLOT as in `SLOTS`.
    """

    def section(match: re.Match[str]) -> str:
        return indent(sections[match[2]].replace("SLOT", SLOTS[match[3]]), match[1])

    for _ in range(DEPTH):
        text = re.sub(rf"^( *)({'|'.join(sections)})_({'|'.join(SLOTS)})$", section, text, flags=re.MULTILINE)
    for pattern, longer in LONGER:
        text = re.sub(pattern, longer, text, flags=re.MULTILINE)
    return text


# Every warp computes all quantities on every plane. Results of rows and planes outside the tile are not used by others,
# and a branch would prevent the compiler from overlapping computations with waits.
# The donor cell: plane t.
FIRST = """
TAKE_TURN
NEAR_TURN
BESIDE_PAST
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
            lid = donor_flux(x[f, r, c], xn[f, r, c], w1[r, c])
            net = donor_flux(x[f, r, c], xe, v1e[r, c]) - donor_flux(xw, x[f, r, c], v1[r, c])
            net += donor_flux(x[f, r, c], xo, v2e[r, c]) - donor_flux(xs, x[f, r, c], v2[r, c])
            net += lid - low[f, r, c]
            p0[f, r, c] = x[f, r, c] - net * rh0[r, c]
            if LIMITED:
                we_m, we_l = extremes(xw, xe)
                so_m, so_l = extremes(xs, xo)
                pm[f, r, c] = larger(larger(we_m, so_m), qm[f, r, c])
                pl[f, r, c] = smaller(smaller(we_l, so_l), ql[f, r, c])
                qm[f, r, c], ql[f, r, c] = extremes(x[f, r, c], p0[f, r, c])
            low[f, r, c] = lid
for r in range(ROWS):
    for c in range(COLUMNS):
        for f in range(FIELDS):
            pw[f, r, c] = west(p0[f, r, c])
            pe = east(p0[f, r, c])
            dx0[f, r, c] = magnitude(pe) - magnitude(pw[f, r, c])
            if not GAUGE:
                bx0[f, r, c] = magnitude(pe) + magnitude(pw[f, r, c])
            if LIMITED:
                we_m, we_l = extremes(pw[f, r, c], pe)
                pm[f, r, c] = larger(pm[f, r, c], larger(we_m, qm[f, r, c]))
                pl[f, r, c] = smaller(pl[f, r, c], smaller(we_l, ql[f, r, c]))
for c in range(COLUMNS):
    for f in range(FIELDS):
        publish(P_FIRST, p0[f, 0, c])
        if ROWS > 1:
            publish(P_LAST, p0[f, ROWS - 1, c])
        publish(DX + turn, dx0[f, ROWS - 1, c])
        if not GAUGE:
            publish(BX + turn, bx0[f, ROWS - 1, c])
    publish_once(S1 + turn, s1_0[ROWS - 1, c])
    publish_once(S3 + turn, s3_0[ROWS - 1, c])
warp_arrive(s, np.uint32(MEETING))
"""
# Corrective fluxes along x in plane t - 1, without data of other warps.
WEST = """
for r in range(ROWS):
    for c in range(COLUMNS):
        if HELD == 0:
            if VARIABLE_H:
                h1[r, c] = arrived(H + PAST)
            if not MIRRORED:
                v1_1[r, c], v2_1[r, c] = arrived_beside(V1 + PAST), arrived(V2 + PAST)
        if HELD < 2:
            if r == ROWS - 1:
                s1_1[r, c], s3_1[r, c] = own_once(S1 + before), own_once(S3 + before)
                for f in range(FIELDS):
                    dx1[f, r, c] = own(DX + before)
                    if not GAUGE:
                        bx1[f, r, c] = own(BX + before)
for r in range(ROWS):
    for c in range(COLUMNS):
        s2w = west(s2_1[r, c])
        s3w = west(s3_1[r, c])
        over = real(0.5)
        if VARIABLE_H:
            hw = west(h1[r, c])
            over = reciprocal(hw + h1[r, c])
        for f in range(FIELDS):
            dz[f, r, c] = magnitude(p0[f, r, c]) - magnitude(p2[f, r, c])
            dyw = west(dy1[f, r, c])
            dzw = magnitude(pw[f, r, c]) - magnitude(pw2[f, r, c])
            bz[f, r, c], byw, bzw = real(0.0), real(0.0), real(0.0)
            if not GAUGE:
                bz[f, r, c] = magnitude(p0[f, r, c]) + magnitude(p2[f, r, c])
                byw = west(by1[f, r, c])
                bzw = magnitude(pw[f, r, c]) + magnitude(pw2[f, r, c])
            v = face_velocity(
                v1_1[r, c], over, magnitude(pw1[f, r, c]), magnitude(p1[f, r, c]),
                s2w + s2_1[r, c], dyw + dy1[f, r, c], byw + by1[f, r, c],
                s3w + s3_1[r, c], dzw + dz[f, r, c], bzw + bz[f, r, c],
            )
            if OPEN:
                v *= pass1[c]
            a1[f, r, c] = corrective_flux(pw1[f, r, c], p1[f, r, c], v)
mbarrier_wait(s, np.uint32(MEETING), phase)
"""
# Corrective fluxes along y in plane t - 1.
SOUTHERN = """
for r in range(ROWS):
    for c in range(COLUMNS):
        for f in range(FIELDS):
            ps[f, r, c] = south(p0[f, r, c], P_LAST)
            po[f, r, c] = north(p0[f, r, c], P_FIRST)
        s1s = south(s1_1[r, c], S1 + before)
        s3s = south(s3_1[r, c], S3 + before)
        over = real(0.5)
        if VARIABLE_H:
            hs = h1[r - 1, c] if r > 0 else arrived_below(H + PAST)
            over = reciprocal(hs + h1[r, c])
        for f in range(FIELDS):
            dxs = south(dx1[f, r, c], DX + before)
            dzs = magnitude(ps[f, r, c]) - magnitude(ps2[f, r, c])
            bxs, bzs = real(0.0), real(0.0)
            if not GAUGE:
                bxs = south(bx1[f, r, c], BX + before)
                bzs = magnitude(ps[f, r, c]) + magnitude(ps2[f, r, c])
            v = face_velocity(
                v2_1[r, c], over, magnitude(ps1[f, r, c]), magnitude(p1[f, r, c]),
                s1s + s1_1[r, c], dxs + dx1[f, r, c], bxs + bx1[f, r, c],
                s3s + s3_1[r, c], dzs + dz[f, r, c], bzs + bz[f, r, c],
            )
            if OPEN:
                v *= pass2[r]
            a2[f, r, c] = corrective_flux(ps1[f, r, c], p1[f, r, c], v)
            if r == 0:
                publish(A2, a2[f, 0, c])
warp_arrive(s, np.uint32(MEETING + 2))
"""
# Corrective fluxes through the faces below plane t; data of other warps are complete.
BELOW = """
for r in range(ROWS):
    for c in range(COLUMNS):
        over = reciprocal(h1[r, c] + h0[r, c]) if VARIABLE_H else real(0.5)
        for f in range(FIELDS):
            dy0[f, r, c] = magnitude(po[f, r, c]) - magnitude(ps[f, r, c])
            if not GAUGE:
                by0[f, r, c] = magnitude(po[f, r, c]) + magnitude(ps[f, r, c])
            if LIMITED:
                so_m, so_l = extremes(ps[f, r, c], po[f, r, c])
                pm[f, r, c], pl[f, r, c] = larger(pm[f, r, c], so_m), smaller(pl[f, r, c], so_l)
            v = face_velocity(
                w0[r, c], over, magnitude(p1[f, r, c]), magnitude(p0[f, r, c]),
                s1_1[r, c] + s1_0[r, c], dx1[f, r, c] + dx0[f, r, c], bx1[f, r, c] + bx0[f, r, c],
                s2_1[r, c] + s2_0[r, c], dy1[f, r, c] + dy0[f, r, c], by1[f, r, c] + by0[f, r, c],
            )
            if OPEN:
                v *= faces.along_k.passable[np.uint32(t + EDGE)]
            a3[f, r, c] = corrective_flux(p1[f, r, c], p0[f, r, c], v)
mbarrier_wait(s, np.uint32(MEETING + 2), phase)
"""
# Allowed fractions at points of plane t - 2, and limited fluxes that need no other warp; plane t - 3 is complete.
SHARES = """
for r in range(ROWS):
    for c in range(COLUMNS):
        for f in range(FIELDS):
            a2e[f, r, c] = north(a2[f, r, c], A2)
            if LIMITED:
                a1e = east(a1[f, r, c])
                most, least = larger(hm1[f, r, c], qm[f, r, c]), smaller(lm1[f, r, c], ql[f, r, c])
                enters, leaves = flows(
                    a1[f, r, c], a1e, a2[f, r, c], a2e[f, r, c], a3_1[f, r, c], a3[f, r, c]
                )
                up = share_of(most - p1[f, r, c], enters * rh1[r, c])
                down = share_of(p1[f, r, c] - least, leaves * rh1[r, c])
                se[f, r, c] = by_sign(a1e, down, up)
                ss[f, r, c], sn[f, r, c] = by_sign(a2[f, r, c], up, down), by_sign(a2e[f, r, c], down, up)
                sw[f, r, c] = by_sign(a1[f, r, c], up, down)
                d3[f, r, c] = a3_1[f, r, c] * smaller(by_sign(a3_1[f, r, c], up, down), top[f, r, c])
                top[f, r, c] = by_sign(a3[f, r, c], down, up)
            else:
                d1[f, r, c], d3[f, r, c] = a1[f, r, c], a3_1[f, r, c]
if LIMITED:
    for r in range(ROWS):
        for c in range(COLUMNS):
            for f in range(FIELDS):
                d1[f, r, c] = a1[f, r, c] * smaller(sw[f, r, c], west(se[f, r, c]))
    for c in range(COLUMNS):
        for f in range(FIELDS):
            publish(SOUTH, ss[f, 0, c])
            publish(NORTH, sn[f, ROWS - 1, c])
for r in range(ROWS):
    for c in range(COLUMNS):
        for f in range(FIELDS):
            flat[f, r, c] = (east(d1[f, r, c]) - d1[f, r, c]) - d3[f, r, c]
            whole = p2[f, r, c] - (net2[f, r, c] + d3[f, r, c]) * rh2[r, c]
            if t > complete and stored[c] and kept[r]:
                to = np.uint32(np.uint32(j + (r - EDGE)) * nx + np.uint32(i + (c - EDGE)))
                flat_store(fields[f].out, np.uint32(np.uint32(t - 3) * plane + to), 0, whole)
"""
# Limited fluxes along y of plane t - 2.
SECOND = """
for r in range(ROWS):
    for c in range(COLUMNS):
        for f in range(FIELDS):
            if LIMITED:
                if r == 0:
                    ss[f, r, c] = own(SOUTH)
                if r == ROWS - 1:
                    sn[f, r, c] = own(NORTH)
                d2[f, r, c] *= smaller(ss[f, r, c], south(sn[f, r, c], NORTH))
                if r == ROWS - 1:
                    d2e[f, r, c] *= smaller(sn[f, r, c], above(SOUTH))
for r in range(ROWS):
    for c in range(COLUMNS):
        for f in range(FIELDS):
            a2o = d2[f, r + 1, c] if r < ROWS - 1 else d2e[f, r, c]
            net2[f, r, c] = flat[f, r, c] + (a2o - d2[f, r, c])
"""
# Shift of the variables to the next plane.
TURN = """
for r in range(ROWS):
    for c in range(COLUMNS):
        if HELD > 0:
            h1[r, c] = h0[r, c]
        if MIRRORED + HELD > 0:
            v1_1[r, c], v2_1[r, c] = v1[r, c], v2[r, c]
        w0[r, c] = w1[r, c]
        rh2[r, c], rh1[r, c] = rh1[r, c], rh0[r, c]
        s1_1[r, c], s2_1[r, c], s3_1[r, c] = s1_0[r, c], s2_0[r, c], s3_0[r, c]
        for f in range(FIELDS):
            d2[f, r, c], d2e[f, r, c] = a2[f, r, c], a2e[f, r, c]
            a3_1[f, r, c] = a3[f, r, c]
            x[f, r, c] = xn[f, r, c]
            p2[f, r, c], p1[f, r, c] = p1[f, r, c], p0[f, r, c]
            pw2[f, r, c], ps2[f, r, c] = pw1[f, r, c], ps1[f, r, c]
            pw1[f, r, c], ps1[f, r, c] = pw[f, r, c], ps[f, r, c]
            dx1[f, r, c], dy1[f, r, c] = dx0[f, r, c], dy0[f, r, c]
            bx1[f, r, c], by1[f, r, c] = bx0[f, r, c], by0[f, r, c]
            hm1[f, r, c], lm1[f, r, c] = pm[f, r, c], pl[f, r, c]
"""
# Next plane: index, phase of the barriers, offset in the ring buffer.
NEXT = """
t, phase = np.int32(t + 1), np.uint32(phase ^ np.uint32(1))
turn, before = before, turn
past, now = now, np.uint32(now + np.uint32(ARRAYS * RAW) if now < np.uint32((RING - 1) * ARRAYS * RAW) else 0)
"""
LOOP = """
while t <= stop:
    for n in range(TURNS):
        if n > 0:
            if t > stop:
                break
"""
PLANE = indent("".join((SHARES, TURN, FIRST, WEST, SECOND, SOUTHERN, BELOW, NEXT)), "        ")
MARCH = PLACES + START + LOOP + PLANE
PARTS = {"BRING": BRING, "TAKE": TAKE, "NEAR": NEAR, "BESIDE": BESIDE, "COPIES": SOURCES, "MARCH": MARCH, "TILE": TILE}
TEXT = in_full(BEGIN, PARTS).strip()
"""Source of the kernel, the input of `eagre.backend.compilation.unrolled.unrolled`."""
