"""Reading what compilers and binary tools print: on short texts, as they came from them."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.checking.findings import SourceLine
from course_lib.machine.instructions import (
    KINDS,
    Instruction,
    amd_resources,
    count,
    count_kinds,
    listing,
    read_amdgcn,
    read_ptx,
    read_sass,
    resources,
)
from course_lib.machine.layouts import Blocked, blocked_layouts
from course_lib.machine.lines import with_lines_of
from course_lib.machine.readable import readable

SASS = """
.text.sum_kernel:
	//## File "/tmp/course-1/answer.py", line 3
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "/usr/lib/triton/standard.py", line 293 inlined at "/tmp/course-1/answer.py", line 5
	//## File "/tmp/course-1/answer.py", line 5
        /*0010*/              @!P0 LDG.E.128 R4, desc[UR6][R2.64] ;
.L_x_2:
        /*0020*/                   SHFL.BFLY PT, R6, R11, 0x10, 0x1f ;
	//## File "/usr/include/other.h", line 7
        /*0030*/               @P1 BRA `(.L_x_2) ;
        /*10040*/                   EXIT ;
        /*10050*/                   NOP;
        /*10060*/                   NOP;
"""
AMDGCN = """
.Lfunc_begin0:
	.file	1 "/tmp/course-1" "answer.py"
	.loc	1 3 0 prologue_end              ; answer.py:3:0
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	.loc	1 0 0 is_stmt 0                 ; :0:0
.Ltmp0:
.LBB0_1:
	buffer_load_dwordx4 v[2:5], v2, s[8:11], 0 offen
	buffer_load_dword v1, s[8:11], 0 offen lds
	.loc	2 263 15                        ; standard.py:263:15 @[ standard.py:293:36 @[ answer.py:5:18 @[ answer.py:9:1 ] ] ]
	v_add_f32_dpp v2, v2, v2 row_shr:8 row_mask:0xf ; a comment
	s_barrier
	s_endpgm
	.section	.rodata,"a",@progbits
	.amdhsa_kernel sum_kernel
.Lfunc_end0:
    .agpr_count:     4
    .group_segment_fixed_size: 64
    .vgpr_count:     22
    .vgpr_spill_count: 3
"""


def line_of(file: str, number: int) -> SourceLine | None:
    return SourceLine("cell", number, f"line {number}") if file == "answer.py" and number else None


def numbers(instructions: tuple[Instruction, ...]) -> list[int | None]:
    return [one.line.line if one.line else None for one in instructions]


def test_sass_is_read_with_predicates_labels_and_lines():
    found = read_sass(SASS, line_of)
    assert [one.opcode for one in found] == ["LDC", "LDG.E.128", "SHFL.BFLY", "BRA", "EXIT"]
    assert (found[1].predicate, found[1].operands) == ("@!P0", "R4, desc[UR6][R2.64]")
    assert found[2].labels == (".L_x_2",)
    assert numbers(found) == [3, 5, 5, None, None]


def test_amds_assembly_is_read_with_lines():
    found = read_amdgcn(AMDGCN, line_of)
    assert [one.opcode for one in found][:3] == ["s_load_dwordx2", "buffer_load_dwordx4", "buffer_load_dword"]
    assert found[1].labels == (".LBB0_1",)
    assert numbers(found) == [3, 3, 3, 5, 5, 5]
    assert count_kinds(found) == {"shuffle": 1, "barrier": 1, "async copy": 1, "global load": 1, "other": 2}
    assert amd_resources(AMDGCN) == (22, 3, 64)


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("SHFL.DOWN", "shuffle"),
        ("STS.128", "shared store"),
        ("LDSM.16.M88.4", "shared load"),
        ("BAR.SYNC.DEFER_BLOCKING", "barrier"),
        ("LDG.E.128", "global load"),
        ("LDGSTS.E.BYPASS.128", "async copy"),
        ("LDGDEPBAR", "other"),
        ("STG.E", "global store"),
        ("LDL", "local memory"),
        ("HMMA.16816.F32", "matrix"),
        ("HGMMA.64x128x16.F32", "matrix"),
        ("HFMA2.MMA", "other"),  # a move of constants, whatever its name
        ("REDUX.SUM", "warp reduction"),
        ("RED.E.ADD.F32", "atomic"),
        ("LDC.64", "other"),
        ("ds_bpermute_b32", "shuffle"),
        ("ds_read_b128", "shared load"),
        ("ds_write2_b64", "shared store"),
        ("global_load_dwordx4", "global load"),
        ("global_load_lds_dwordx4", "async copy"),
        ("v_mfma_f32_32x32x8_f16", "matrix"),
        ("v_add_f32_e32", "other"),
        ("s_barrier", "barrier"),
    ],
)
def test_each_instruction_is_of_one_kind(opcode: str, kind: str):
    assert Instruction(opcode, "").kind == kind


def test_counting_is_by_opcode_and_modifiers():
    code = [Instruction(opcode, "") for opcode in ("LDG.E.128", "LDG.E", "LDGSTS.E.128", "SHFL.BFLY", "SHFL.DOWN", "STG.E.128")]
    assert [count(code, wanted) for wanted in ("LDG", "LDG.128", "ldg.e", "SHFL", "SHFL.BFLY", "LD")] == [2, 1, 2, 2, 1, 0]
    assert sum(count_kinds(code).values()) == len(code)
    assert list(count_kinds(code)) == [kind for kind in KINDS if kind in count_kinds(code)]


def test_a_listing_names_each_line_once_until_it_changes():
    text = listing(read_sass(SASS, line_of))
    assert text.splitlines() == [
        "// cell, line 3: line 3",
        "        LDC R1, c[0x0][0x28]",
        "// cell, line 5: line 5",
        "   @!P0 LDG.E.128 R4, desc[UR6][R2.64]",
        ".L_x_2:",
        "        SHFL.BFLY PT, R6, R11, 0x10, 0x1f",
        "    @P1 BRA `(.L_x_2)",
        "        EXIT",
    ]


@pytest.mark.parametrize(
    ("target", "usage", "found"),
    [
        ("sm_80", "REG:12 STACK:0 SHARED:128 LOCAL:0 CONSTANT[0]:368", (12, 0, 128)),
        ("sm_90", "REG:12 STACK:0 SHARED:1152 LOCAL:0 CONSTANT[0]:544", (12, 0, 128)),
        ("sm_90", "REG:255 STACK:40 SHARED:0 LOCAL:0 CONSTANT[0]:544", (255, 10, 0)),
    ],
)
def test_shared_memory_is_the_kernels_own(target: str, usage: str, found: tuple[int, int, int]):
    assert resources(usage, target) == found


PTX = """
	.loc	1 14 9                          // answer.py:14:9
	// begin inline asm
	.loc	1 14 9                          // answer.py:14:9
	mov.u32 %r1, %r5;
	.loc	1 15 9                          // answer.py:15:9
	@%p1 ld.global.v2.b32 { %r1, %r2 }, [ %rd1 + 0 ];
	// end inline asm
	.loc	2 263 15                        // standard.py:263:15 @[ standard.py:293:36 @[ answer.py:5:18 @[ answer.py:9:1 ] ] ]
	add.f32 %r3, %r1, %r2;
	.loc	2 7 1                           // standard.py:7:1
	.file	1 "/tmp/course-1/answer.py"
	.file	2 "/lib/standard.py"
"""


def test_lines_of_the_library_become_lines_of_the_kernel():
    places = [line.split("//")[0].split() for line in with_lines_of(PTX, "answer.py").splitlines() if ".loc" in line]
    assert [tuple(map(int, place[1:3])) for place in places] == [(1, 14), (1, 14), (1, 5), (2, 7)]
    code = [line for line in PTX.splitlines() if ".loc" not in line]
    assert [line for line in with_lines_of(PTX, "answer.py").splitlines() if ".loc" not in line] == code
    assert with_lines_of(PTX, "elsewhere.py") == PTX


def test_texts_are_shown_without_places():
    mlir = '#loc1 = loc("a.py":1:2)\nfunc(%x loc("x"(#loc1))) {\n  %y = add %x loc(callsite(#loc1 at #loc1))\n} loc(#loc1)\n'
    assert readable("ttgir", mlir) == "func(%x) {\n  %y = add %x\n}\n"
    assert readable("llir", "  ret void, !dbg !7\n\n!7 = !DILocation(line: 1)\n") == "  ret void\n"
    ptx = "\t.loc\t1 2 3\n\tadd.f32 a, b;\n$L__tmp1:\n$L__BB0_1:\n\tret;\n\t.section\t.debug_abbrev\n\t{\n.b8 1\n\t}\n"
    assert readable("ptx", ptx) == "\tadd.f32 a, b;\n$L__BB0_1:\n\tret;\n"


def test_blocked_layouts_are_found_by_name():
    ttgir = """#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
"""
    found = blocked_layouts(ttgir)
    assert list(found) == ["blocked", "blocked1"]
    assert found["blocked"] == Blocked((1, 4), (4, 8), (4, 1), (1, 0))
    assert (found["blocked"].tile, found["blocked1"].tile) == ((16, 32), (512,))


def test_a_blocked_layout_gives_threads_as_tritons_documentation_draws_it():
    """TritonGPUAttrDefs.td, BlockedEncodingAttr, example 2: 16 × 16 elements, 2 × 2 a thread, 8 × 4 threads, 1 × 2 warps."""
    owners = Blocked((2, 2), (8, 4), (1, 2), (1, 0)).owners((16, 16))
    threads = owners[..., 0] * 32 + owners[..., 1]
    assert threads[0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 32, 32, 33, 33, 34, 34, 35, 35]
    assert (threads[0] == threads[1]).all()
    assert threads[2].tolist() == [4, 4, 5, 5, 6, 6, 7, 7, 36, 36, 37, 37, 38, 38, 39, 39]
    assert threads[15].tolist() == [28, 28, 29, 29, 30, 30, 31, 31, 60, 60, 61, 61, 62, 62, 63, 63]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("shape", [(16, 64), (32, 32), (8, 128)])
def test_every_element_lies_in_a_register_of_its_own(shape: tuple[int, int], order: tuple[int, int]):
    layout = Blocked((1, 4), (4, 8), (2, 1), order)
    places = layout.owners(shape).reshape(-1, 3)
    assert len(np.unique(places, axis=0)) == shape[0] * shape[1]
    assert places.max(axis=0).tolist() == [1, 31, shape[0] * shape[1] // 64 - 1]


def test_a_tile_smaller_than_its_layout_names_the_first_owner():
    owners = Blocked((4,), (32,), (4,), (0,)).owners((64,))
    assert owners[:, 0].max() == 0
    assert owners[:, 1].max() == 15


INLINE = """
	.loc	1 7 16
	ld.param.b64 	%rd5, [copy_kernel_param_0];
$L__BB0_1:
	// begin inline asm
	mov.u32 %r2, %r1;
	@%p1 ld.global.L1::evict_last.v4.b32 { %r2, %r3, %r4, %r5 }, [ %rd1 + 0 ];
	// end inline asm
	.loc	2 293 36
	@!%p2 bra 	$L__BB0_1;
	cp.async.cg.shared.global [ %r7 + 0 ], [ %rd2 + 0 ], 0x10, %r8;
	cp.async.commit_group;
	cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd9, {%r2}], [%r3];
	cp.async.bulk.commit_group;
	.loc	1 9 4
	st.global.b16 	[%rd3], %rs1;
	st.shared.v2.b32 	[%r9], {%r2, %r3};
	.file	1 "/tmp/course-1" "/tmp/course-1/answer.py"
	.file	2 "/lib/standard.py"
"""


def test_ptx_is_read_with_lines_kinds_and_widths() -> None:
    def line_of(file: str, number: int) -> SourceLine | None:
        return SourceLine(file, number, "") if file == "answer.py" else None

    found = [(one.kind, one.width, one.line and one.line.line, one.predicate) for one in read_ptx(INLINE, line_of)]
    assert found == [
        ("other", None, 7, ""),
        ("other", None, 7, ""),
        ("global load", 16, 7, "@%p1"),
        ("other", None, None, "@!%p2"),
        ("async copy", 16, None, ""),
        ("other", None, None, ""),
        ("async copy", 128, None, ""),
        ("other", None, None, ""),
        ("global store", 2, 9, ""),
        ("shared store", 8, 9, ""),
    ]
