"""Lane moves of data parallel processing (RDNA3 ISA and CDNA3 ISA, "Data
Parallel Processing")."""


def lane_moves(generation):
    """DPP controls: text -> source lane of a lane in a row of 16, or None
    where it lies outside."""
    moves = {
        "quad_perm:[3,1,0,2]": lambda i: i & ~3 | (3, 1, 0, 2)[i & 3],
        "quad_perm:[0,0,2,2]": lambda i: i & ~3 | (0, 0, 2, 2)[i & 3],
        "row_mirror": lambda i: 15 - i,
        "row_half_mirror": lambda i: i & 8 | 7 - (i & 7),
    }
    for n in (1, 5, 15):
        moves[f"row_shl:{n}"] = (
            lambda i, n=n: i + n if i + n < 16 else None)
        moves[f"row_shr:{n}"] = (lambda i, n=n: i - n if i >= n else None)
        moves[f"row_ror:{n}"] = lambda i, n=n: (i - n) % 16
    if generation != "gfx9":
        moves["row_share:6"] = lambda i: 6
        moves["row_xmask:11"] = lambda i: i ^ 11
    return moves
