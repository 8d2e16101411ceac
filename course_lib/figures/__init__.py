"""Pictures for the lessons: values in, matplotlib figures out. Nothing here launches a kernel or imports Triton."""

from course_lib.figures.accesses import draw_accesses
from course_lib.figures.attention import draw_running_pair, draw_score_blocks
from course_lib.figures.blocks import draw_blocks, draw_grid, draw_mask, draw_row_schedule
from course_lib.figures.code import draw_layout, draw_side_by_side
from course_lib.figures.measuring import draw_lines, draw_readings, draw_timeline
from course_lib.figures.memory import (
    draw_coalescing,
    draw_strides,
    draw_wrap,
    lane_addresses,
    pieces_touched,
    wrap_int32,
)
from course_lib.figures.pipeline import draw_pipeline
from course_lib.figures.progress import draw_progress
from course_lib.figures.resources import draw_occupancy, draw_roofline
from course_lib.figures.rows import draw_lanes, draw_row, draw_traffic, draw_turns
from course_lib.figures.speed import draw_bandwidth, draw_share, draw_tflops, draw_times
from course_lib.figures.sums import draw_sums
from course_lib.figures.tile_order import draw_bars, draw_tile_order
from course_lib.figures.tiles import draw_k_walk, draw_tile_mask
from course_lib.figures.warps import draw_block, draw_butterfly
from course_lib.figures.widgets import slider
from course_lib.figures.wrong import draw_wrong

__all__ = [
    "draw_accesses",
    "draw_bandwidth",
    "draw_bars",
    "draw_block",
    "draw_blocks",
    "draw_butterfly",
    "draw_coalescing",
    "draw_grid",
    "draw_k_walk",
    "draw_lanes",
    "draw_layout",
    "draw_lines",
    "draw_mask",
    "draw_occupancy",
    "draw_pipeline",
    "draw_progress",
    "draw_readings",
    "draw_roofline",
    "draw_row",
    "draw_row_schedule",
    "draw_running_pair",
    "draw_score_blocks",
    "draw_share",
    "draw_side_by_side",
    "draw_strides",
    "draw_sums",
    "draw_tflops",
    "draw_tile_mask",
    "draw_tile_order",
    "draw_timeline",
    "draw_times",
    "draw_traffic",
    "draw_turns",
    "draw_wrap",
    "draw_wrong",
    "lane_addresses",
    "pieces_touched",
    "slider",
    "wrap_int32",
]
