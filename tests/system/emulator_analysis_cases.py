"""Cases for the static detectors, in assembly: pairs of instructions, waits, registers never written, control flow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Two instructions, and the wait states that must lie between them; ``other`` is a rule that asks for as many."""

    rule: str
    first: str
    second: str
    wait: int
    other: str = ""


_XDL = {
    2: "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[8:9], v[10:11], v[0:3]",
    4: "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]",
    8: "v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[10:11], v[16:31]",
    16: "v_mfma_f32_32x32x4_2b_f16 v[32:63], v[8:9], v[10:11], v[32:63]",
}
_SGEMM = {
    2: "v_mfma_f32_4x4x1_16b_f32 v[0:3], v8, v9, v[0:3]",
    8: "v_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[0:3]",
    16: "v_mfma_f32_32x32x2_f32 v[16:31], v8, v9, v[16:31]",
}
_DGEMM_4, _DGEMM_16 = (
    "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[8:9], v[10:11], v[0:1]",
    "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]",
)
_RESULT = {2: "v1", 4: "v1", 8: "v17", 16: "v33"}
_SECOND = "v_mfma_f32_16x16x16_f16 v[{d}:{e}], v[72:73], v[74:75], v[{c}:{f}]"

PAIRS = [
    Pair("valu-sgpr-vmem", "v_readfirstlane_b32 s4, v9", "buffer_load_dword v1, v2, s[8:11], s4 offen", 5),
    Pair("valu-sgpr-vmem", "v_readfirstlane_b32 s9, v9", "buffer_load_dword v1, v2, s[8:11], 0 offen", 5),
    Pair("valu-sgpr-vmem", "v_cmp_eq_u32 s[4:5], v1, v2", "global_load_dword v1, v2, s[4:5]", 5),
    Pair("vgpr-dpp", "v_mov_b32 v1, v2", "v_mov_b32_dpp v3, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 2),
    Pair("valu-exec-dpp", "v_cmpx_eq_u32 vcc, v1, v2", "v_mov_b32_dpp v3, v4 row_shr:1 row_mask:0xf bank_mask:0xf", 5),
    Pair("valu-vcc-div-fmas", "v_cmp_eq_u32 vcc, v1, v2", "v_div_fmas_f32 v3, v4, v5, v6", 4),
    Pair("setreg-getreg", "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s4", "s_getreg_b32 s5, hwreg(HW_REG_MODE, 4, 4)", 2),
    Pair("setreg-setreg", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3",
         "s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s5", 2),
    Pair("setreg-vskip", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1", "v_mov_b32 v1, v2", 2),
    Pair("store-data-valu", "global_store_dwordx4 v0, v[4:7], s[4:5]", "v_mov_b32 v7, v2", 2),
    Pair("store-data-valu", "buffer_store_dwordx3 v[4:6], v0, s[8:11], 0 offen", "v_mov_b32 v5, v2", 2),
    Pair("valu-sgpr-lane-select", "v_readfirstlane_b32 s4, v9", "v_readlane_b32 s5, v1, s4", 4),
    Pair("valu-sgpr-lane-select", "v_readfirstlane_b32 s4, v9", "v_writelane_b32 v1, 5, s4", 4),
    Pair("valu-sgpr-valu", "v_readfirstlane_b32 s4, v9", "v_add_u32 v1, s4, v2", 2),
    Pair("valu-sgpr-valu", "v_cmp_eq_u32 vcc, v1, v2", "v_cndmask_b32 v3, v4, v5, vcc", 2),
    Pair("valu-exec-lane", "v_cmpx_eq_u32 vcc, v1, v2", "v_readfirstlane_b32 s5, v4", 4),
    Pair("valu-vgpr-readlane", "v_mov_b32 v1, v2", "v_readfirstlane_b32 s5, v1", 1),
    Pair("dst-sel", "v_add_u32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
         "v_mov_b32 v4, v1", 1),
    Pair("dst-sel", "v_mad_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]", "v_mov_b32 v1, v5", 1),
    Pair("trans", "v_rcp_f32 v1, v2", "v_mul_f32 v3, v1, v4", 1),
    Pair("execz-vccz", "v_cmp_eq_u32 vcc, v1, v2", "v_add_u32 v3, src_vccz, v4", 5),
    Pair("trapsts-rfe", "s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 4), s4", "", 1),
    Pair("salu-m0", "s_mov_b32 m0, s4", "s_movrels_b32 s5, s6", 1),
    Pair("salu-m0", "s_mov_b32 m0, s4", "global_load_lds_dword v1, s[4:5]", 1),
    Pair("salu-m0", "s_mov_b32 m0, s4", "ds_read_addtid_b32 v1", 1),
    Pair("valu-exec-matrix", "v_cmpx_eq_u32 vcc, v1, v2", _XDL[4], 4),
    Pair("valu-vgpr-matrix", "v_mov_b32 v8, v64", _XDL[4], 2),
    Pair("valu-vgpr-matrix", "v_accvgpr_write_b32 a1, v64",
         "v_mfma_f32_16x16x16_f16 a[0:3], v[8:9], v[10:11], a[0:3]", 2),
    Pair("dgemm-4x4-same-c", _DGEMM_4, "v_mfma_f64_4x4x4_4b_f64 v[64:65], v[72:73], v[74:75], v[0:1]", 4),
    Pair("xdl-same-c", _XDL[2], _XDL[2], 2),
    Pair("sgemm-same-c", _SGEMM[2], _SGEMM[2], 2),
    Pair("dgemm-16x16-partial-c", _DGEMM_16, "v_mfma_f64_4x4x4_4b_f64 v[64:65], v[72:73], v[74:75], v[2:3]", 9),
    Pair("dgemm-4x4-partial-c", _DGEMM_4, "v_mfma_f64_16x16x4_f64 v[64:71], v[72:73], v[74:75], v[0:7]", 4),
    Pair("dgemm-16x16-ab", _DGEMM_16, "v_mfma_f64_16x16x4_f64 v[64:71], v[2:3], v[74:75], v[64:71]", 11),
    Pair("dgemm-4x4-ab", _DGEMM_4, "v_mfma_f64_16x16x4_f64 v[64:71], v[72:73], v[0:1], v[64:71]", 6),
    Pair("dgemm-16x16-memory", _DGEMM_16, "global_store_dword v64, v3, s[4:5]", 18),
    Pair("dgemm-4x4-memory", _DGEMM_4, "ds_write_b32 v64, v1", 9),
    Pair("dgemm-16x16-use", _DGEMM_16, "v_mov_b32 v64, v3", 11),
    Pair("dgemm-4x4-use", _DGEMM_4, "v_mov_b32 v1, v64", 6),
    Pair("dgemm-fma64", _DGEMM_4, "v_fma_f64 v[64:65], v[66:67], v[68:69], v[70:71]", 2),
    Pair("dot-same-ab", "v_dot4_i32_i8 v1, v2, v3, v4", "v_dot4_i32_i8 v5, v1, v3, v4", 3),
    Pair("dot-other", "v_dot4_i32_i8 v1, v2, v3, v4", "v_mov_b32 v5, v1", 3),
    Pair("dot-other", "v_dot4_i32_i8 v1, v2, v3, v4", "v_mov_b32 v1, v5", 3),
    *(Pair("xdl-partial-c", _XDL[passes], _SECOND.format(d=64, e=67, c=first, f=first + 3), passes + 1)
      for passes, first in ((2, 2), (4, 2), (8, 18), (16, 34))),
    *(Pair("xdl-ab", _XDL[passes], f"v_mfma_f32_4x4x1_16b_f32 v[64:67], {_RESULT[passes]}, v72, v[64:67]", passes + 3)
      for passes in _XDL),
    *(Pair("xdl-use", _XDL[passes], f"v_add_f32 v64, v65, {_RESULT[passes]}", passes + 3) for passes in _XDL),
    *(Pair("xdl-use", _XDL[passes], f"global_store_dword v64, {_RESULT[passes]}, s[4:5]", passes + 3)
      for passes in _XDL),
    *(Pair("xdl-use", _XDL[passes], f"v_mov_b32 {_RESULT[passes]}, v64", passes + 3) for passes in _XDL),
    *(Pair("xdl-c-overwritten", first, "v_mov_b32 v65, v80", wait) for first, wait in (
        ("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[8:9], v[10:11], v[64:67]", 1),
        ("v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[64:67]", 3),
        ("v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[10:11], v[64:79]", 7),
        ("v_mfma_f32_32x32x4_2b_f16 v[16:47], v[8:9], v[10:11], v[64:95]", 15))),
    *(Pair("sgemm-partial-c", _SGEMM[passes], f"v_mfma_f32_16x16x4_f32 v[64:67], v72, v73, v[{c}:{c + 3}]", passes)
      for passes, c in ((2, 2), (8, 2), (16, 18))),
    *(Pair("sgemm-ab", _SGEMM[passes], f"v_mfma_f32_16x16x4_f32 v[64:67], {_RESULT[passes if passes < 16 else 8]}, v73,"
           " v[64:67]", passes + 2) for passes in (2, 16)),
    *(Pair("sgemm-use", _SGEMM[passes], f"v_add_f32 v64, v65, {_RESULT[passes if passes < 16 else 8]}", passes + 2)
      for passes in (2, 16)),
]  # fmt: skip
NOT_ASSEMBLED = {"trapsts-rfe"}
"""``s_rfe_b64`` belongs to trap handlers; code of kernels that has one is refused."""

_BUFFER_LOAD = "buffer_load_dword v1, v2, s[8:11], s4 offen"
HAZARD_CASES = {
    "other_instructions_count": ("v_readfirstlane_b32 s4, v9; v_mov_b32 v20, v21; v_add_u32 v1, s4, v2", 1),
    "two_others_are_enough": ("v_readfirstlane_b32 s4, v9; s_mov_b32 s9, s8; s_nop 0; v_add_u32 v1, s4, v2", 0),
    "llvm_keeps_it_though_overwritten": ("v_readfirstlane_b32 s4, v9; s_mov_b32 s4, s8; v_add_u32 v1, s4, v2", 1),
    "shortest_path_counts": (
        "s_cmp_eq_u32 s8, 0; v_readfirstlane_b32 s4, v9; s_cbranch_scc1 L0; s_nop 4; L0: v_add_u32 v1, s4, v2", 1),
    "shorter_of_two_paths_counts": (
        f"v_readfirstlane_b32 s4, v9; s_cbranch_scc1 L9; s_nop 1; L9: s_nop 1; {_BUFFER_LOAD}", 1),
    "around_a_loop": (
        "s_mov_b32 s4, 0; L1: v_add_u32 v1, s4, v1; s_cmp_eq_u32 s8, 0; v_readfirstlane_b32 s4, v1; s_cbranch_scc1 L1",
        1),
    "matrix_chain_forwards": (f"{_XDL[16]}; {_XDL[16]}; {_XDL[16]}", 0),
    "scalar_offset_frees_stores": ("buffer_store_dwordx4 v[4:7], v0, s[8:11], s12 offen; v_mov_b32 v7, v2", 0),
    "narrow_stores_are_free": ("global_store_dwordx2 v0, v[4:5], s[4:5]; v_mov_b32 v5, v2", 0),
    "clause_overwrites_address": ("global_load_dword v2, v1, s[4:5]; global_load_dword v1, v3, s[4:5]", 1),
    "clause_of_scalar_loads": ("s_load_dwordx2 s[8:9], s[4:5], 0; s_load_dwordx2 s[4:5], s[6:7], 0", 1),
    "clause_is_broken": ("global_load_dword v2, v1, s[4:5]; s_nop 0; global_load_dword v1, v3, s[4:5]", 0),
    "store_behind_load": ("global_load_dword v2, v1, s[4:5]; global_store_dword v3, v4, s[4:5]", 1),
}  # fmt: skip

_LOAD = "global_load_dword v2, v1, s[4:5]"
_TO_LDS = "s_mov_b32 m0, 0; s_nop 0; global_load_lds_dword v1, s[4:5]"
WAIT_CASES = {
    "load_used": (f"{_LOAD}; v_add_u32 v3, v2, v1", 1),
    "load_waited": (f"{_LOAD}; s_waitcnt vmcnt(0); v_add_u32 v3, v2, v1", 0),
    "load_overwritten": (f"{_LOAD}; v_mov_b32 v2, 0", 1),
    "loads_come_in_order": (f"{_LOAD}; global_load_dword v3, v1, s[4:5]; s_waitcnt vmcnt(1); v_mov_b32 v4, v2", 0),
    "not_the_last": (f"{_LOAD}; global_load_dword v3, v1, s[4:5]; s_waitcnt vmcnt(1); v_mov_b32 v4, v3", 1),
    "stores_count": (f"{_LOAD}; global_store_dword v1, v9, s[4:5]; s_waitcnt vmcnt(1); v_mov_b32 v4, v2", 0),
    "store_data_is_free": ("global_store_dword v1, v9, s[4:5]; v_mov_b32 v9, v1", 0),
    "shorter_path_counts": (
        f"{_LOAD}; s_cbranch_scc1 L2; global_load_dword v3, v1, s[4:5]; L2: s_waitcnt vmcnt(1); v_mov_b32 v4, v2", 1),
    "around_a_loop_too": (
        f"v_mov_b32 v2, 0; L3: v_mov_b32 v4, v2; {_LOAD}; s_cbranch_scc1 L3; s_waitcnt vmcnt(0)", 1),
    "largest_count_is_no_wait": (f"{_LOAD}; s_waitcnt vmcnt(63); v_mov_b32 v4, v2", 1),
    "both_may_load": (f"{_LOAD}; global_load_dword v2, v3, s[4:5]; s_waitcnt vmcnt(0)", 0),
    "agpr_loaded": ("global_load_dword a2, v1, s[4:5]; v_accvgpr_read_b32 v3, a2", 1),
    "scalar_used": ("s_load_dword s8, s[4:5], 0; s_add_u32 s9, s8, s8", 1),
    "scalar_condition": ("s_load_dwordx2 vcc, s[4:5], 0; s_cbranch_vccz L4; s_nop 0; L4: s_nop 0", 1),
    "scalar_any_order": (
        "s_load_dword s8, s[4:5], 0; s_load_dword s9, s[4:5], 4; s_waitcnt lgkmcnt(1); s_mov_b32 s10, s8", 1),
    "scalar_overwritten": ("s_load_dword s8, s[4:5], 0; s_load_dword s8, s[4:5], 4; s_waitcnt lgkmcnt(0)", 1),
    "scalar_zero": ("s_load_dword s8, s[4:5], 0; s_waitcnt lgkmcnt(0); s_mov_b32 s10, s8", 0),
    "lds_in_order": ("ds_read_b32 v2, v1; ds_read_b32 v3, v1; s_waitcnt lgkmcnt(1); v_mov_b32 v4, v2", 0),
    "lds_not_in_order_with_scalar": (
        "ds_read_b32 v2, v1; s_load_dword s8, s[4:5], 0; s_waitcnt lgkmcnt(1); v_mov_b32 v4, v2", 1),
    "lgkm_limit_is_no_wait": ("ds_read_b32 v2, v1; s_waitcnt lgkmcnt(15); v_mov_b32 v4, v2", 1),
    "vmcnt_is_not_for_lds": ("ds_read_b32 v2, v1; s_waitcnt vmcnt(0); v_mov_b32 v4, v2", 1),
    "flat_needs_both": ("flat_load_dword v2, v[4:5]; s_waitcnt vmcnt(0); v_mov_b32 v6, v2", 1),
    "flat_with_both": ("flat_load_dword v2, v[4:5]; s_waitcnt vmcnt(0) lgkmcnt(0); v_mov_b32 v6, v2", 0),
    "flat_delays_others": (
        f"{_LOAD}; flat_load_dword v3, v[4:5]; s_waitcnt vmcnt(1); v_mov_b32 v6, v2", 1),
    "permuted": ("ds_bpermute_b32 v2, v1, v3; v_mov_b32 v4, v2", 1),
    "atomic_returns": ("global_atomic_add v2, v1, v3, s[4:5] sc0; v_mov_b32 v4, v2", 1),
    "lds_write_before_barrier": ("ds_write_b32 v1, v2; s_barrier; ds_read_b32 v3, v1; s_waitcnt lgkmcnt(0)", 1),
    "lds_write_waited": ("ds_write_b32 v1, v2; s_waitcnt lgkmcnt(0); s_barrier; ds_read_b32 v3, v1", 0),
    "lds_read_before_barrier": ("ds_read_b32 v3, v1; s_barrier; ds_write_b32 v1, v2; s_waitcnt lgkmcnt(0)", 1),
    "lds_own_order": ("ds_write_b32 v1, v2; ds_read_b32 v3, v1; s_waitcnt lgkmcnt(0); s_barrier", 0),
    "loads_to_lds_are_left_to_the_race_detector": (f"{_TO_LDS}; s_barrier; ds_read_b32 v3, v1", 0),
    "end_needs_no_wait": (f"{_LOAD}; ds_write_b32 v1, v3", 0),
    "invalidated_too_early": (f"{_LOAD}; buffer_inv sc1; s_waitcnt vmcnt(0)", 1),
    "invalidated": (f"{_LOAD}; s_waitcnt vmcnt(0); buffer_inv sc1", 0),
    "released_too_early": ("buffer_wbl2 sc1; global_atomic_add v1, v3, s[4:5]", 1),
    "released_too_early_by_a_store": ("buffer_wbl2 sc1; global_store_dword v1, v3, s[4:5] sc1", 1),
    "released": ("buffer_wbl2 sc1; s_waitcnt vmcnt(0); global_store_dword v1, v3, s[4:5] sc1", 0),
}  # fmt: skip

UNWRITTEN_CASES = {
    "address_of_nothing": ("global_load_dword v2, v7, s[0:1]", 1),
    "address_of_arguments": ("v_mov_b32 v7, 0; global_load_dword v2, v7, s[0:1]", 0),
    "result_of_nothing": ("global_store_dword v0, v9, s[0:1]", 1),
    "written_on_one_path": (
        "s_cmp_eq_u32 s0, 0; s_cbranch_scc1 L5; v_mov_b32 v9, 1; L5: global_store_dword v0, v9, s[0:1]", 0),
    "condition_of_nothing": ("s_cbranch_vccz L6; s_nop 0; L6: s_nop 0", 1),
    "lanes_of_nothing": ("s_and_b64 exec, exec, s[20:21]", 1),
    "partly_written": ("v_writelane_b32 v9, s0, 3; global_store_dword v0, v9, s[0:1]", 0),
    "spilled": ("scratch_store_dword off, v40, off", 0),
    "part_of_a_wide_result": ("v_mov_b32 v8, 0; global_store_dwordx2 v0, v[8:9], s[0:1]", 1),
}  # fmt: skip

_CALL = "s_getpc_b64 s[4:5]; s_add_u32 s4, s4, {0}@rel32@lo+4; s_addc_u32 s5, s5, {0}@rel32@hi+12"
_LOADS = "global_load_dword v2, v0, s[0:1]"
FLOW = {
    "called": f"{_CALL.format('f0')}; s_swappc_b64 s[30:31], s[4:5]; v_mov_b32 v3, v2; s_endpgm;"
              f"f0: {_LOADS}; s_setpc_b64 s[30:31]",
    "called_and_waited": f"{_CALL.format('f1')}; s_swappc_b64 s[30:31], s[4:5]; v_mov_b32 v3, v2; s_endpgm;"
                         f"f1: {_LOADS}; s_waitcnt vmcnt(0); s_setpc_b64 s[30:31]",
    "called_backwards": f"s_branch L10; f3: {_LOADS}; s_setpc_b64 s[30:31]; L10: {_CALL.format('f3')};"
                        "s_swappc_b64 s[30:31], s[4:5]; v_mov_b32 v3, v2; s_endpgm",
    "through_lanes": f"{_CALL.format('f2')}; v_writelane_b32 v9, s4, 0; v_writelane_b32 v9, s5, 1; s_mov_b64 s[4:5], 0;"
                     "v_readlane_b32 s8, v9, 0; v_readlane_b32 s9, v9, 1; s_swappc_b64 s[30:31], s[8:9];"
                     f"v_mov_b32 v3, v2; s_endpgm; f2: {_LOADS}; s_setpc_b64 s[30:31]",
    "through_a_pointer": "s_load_dwordx2 s[4:5], s[0:1], 0; s_waitcnt lgkmcnt(0); global_load_dword v2, v0, s[0:1];"
                         "s_swappc_b64 s[30:31], s[4:5]; v_mov_b32 v3, v2; s_endpgm",
    "into_the_middle": "s_cbranch_scc1 1; v_readlane_b32 s4, v1, 3; s_endpgm",
    "off_the_end": "s_branch 0x7000",
    "other_matrix": "s_nop 0; .long 0xd3ac0000, 0; s_endpgm",
    "no_instruction": "s_nop 0; .long 0xffffffff; s_endpgm",
}  # fmt: skip
