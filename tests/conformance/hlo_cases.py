"""HLO texts for the differential test: what XLA's parser accepts and what it rejects.

`ACCEPTED` are read by XLA and by autotune to the same protobuf. `REJECTED` are read by neither.
`STRICTER` are accepted by XLA, or end its process, but are errors here on purpose; each says why.
"""

ADD = "to_apply={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }"
PAIR = ("to_apply={ a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) "
        "d = s32[] parameter(3) ROOT t = (f32[], s32[]) tuple(a, b) }")


def one(line):
    return line


def entry(body, header="HloModule m"):
    return header + "\n\nENTRY e {\n" + body + "\n}\n"


# Types, shapes and layouts: each is the shape of a parameter.
SHAPES = """
pred[] s1[7] s2[8] s4[8]{0:E(4)} s8[1] s16[2] s32[3] s64[4] u1[1] u2[4] u4[2] u8[2] u16[2] u32[1] u64[1]
f4e2m1fn[4] f8e5m2[1] f8e4m3[1] f8e4m3fn[1] f8e4m3b11fnuz[1] f8e3m4[1] f8e5m2fnuz[1] f8e4m3fnuz[1]
f8e8m0fnu[1] f16[2] bf16[2] f32[2] f64[2] c64[2] c128[2] token[] opaque[] () (f32[]) (f32[2],(s32[],()))
f32[0] f32[2,0,3] f32[<=5] f32[<=5,3]{1,0} f32[?] f32[?,4]{1,0} f32[2,3]{0,1} f32[2,3]{1,0:T(8,128)}
bf16[16,128]{1,0:T(8,128)(2,1)S(1)} f32[2,3]{1,0:T(8,128)S(3)} f32[7]{0:T(256)} f32[]{:T(256)}
f32[8,4]{1,0:T(*,4)} f32[8]{0:L(16)} f32[8]{0:T(8)L(16)E(32)S(2)} f32[8]{0:SC(0:4)} f32[8,8]{1,0:SC(0:2,4)(1:4)}
f32[8]{0:L(1)} f32[8]{0:L} f32[8]{0:L(9223372036854775807)} f32[8]{0:M(512)} f32[8]{0:#(u8)*(u32)} f32[8]{0:D(D)} f32[8,8]{1,0:D(D,C)} b(f32[4]) (b(f32[4]),f32[2])
f32[4]{0:T(256} f32[4]{0:T(256,} f32[4]{0:T(256)S} f32[4]{0:T(256)S(1} f32[4]{0:E(8} f32[4]{0:S(}
f32[1,2,3,4,5,6,7,8] f32[2]{0:T()} (f32[2]{0:T(128)},/*index=1*/s32[])
""".split()

HEADERS = [
    "HloModule m, is_scheduled=true",
    "HloModule m, is_scheduled=false",
    "HloModule m, replica_count=2, num_partitions=4",
    "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }",
    "HloModule m, input_output_alias={ {}: (0, {}, must-alias) }",
    "HloModule m, input_output_alias={ {}: (0, {}) }",
    "HloModule m, input_output_alias={}",
    "HloModule m, buffer_donor={ (0, {}) }",
    "HloModule m, buffer_donor={ (3, {1, 2}), (0, {}), (0, {}) }",
    "HloModule m, alias_passthrough_params=true",
    "HloModule m, allow_spmd_sharding_propagation_to_parameters={false,true}",
    "HloModule m, allow_spmd_sharding_propagation_to_output=true",
    "HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0:T(256)}}",
    "HloModule m, entry_computation_layout={(f32[2])->f32[2]}",
    "HloModule m, frontend_attributes={a=\"1\",b={\"c\":{\"d\":1}}}",
    "HloModule m, frontend_attributes={}",
    "HloModule m, origin_recovery_table={}",
    "HloModule m, origin_recovery_table={{\"a\"} : {\"b\" {0}}}",
    "HloModule m-1.x_y",
    "HloModule %m",
    "/* before */ HloModule m // behind",
    "// line\n// line\nHloModule m",
    "HloModule m, is_scheduled=true,\n  replica_count=2",
]

LITERALS = """
f32[<=2] constant({1,2})|(f32[<=2], s32[]) constant(({1,2}, 3))|f32[<=2,3] constant({...})|f32[2,<=1]{0,1} constant({{1},{2}})
pred[] constant(true)|pred[] constant(false)|pred[] constant(1)|pred[] constant(7)|pred[3] constant({1, 0, true})
s1[2] constant({0, -1})|s2[4] constant({-2, -1, 0, 1})|u1[2] constant({0, 1})|u2[4] constant({0, 1, 2, 3})
s4[4] constant({-8, 7, 0, -1})|u4[2] constant({0, 15})|s8[2] constant({-128, 127})|u8[2] constant({0, 255})
s16[] constant(-32768)|u16[] constant(65535)|s32[2] constant({-2147483648, 2147483647})|u32[] constant(4294967295)
s64[] constant(-9223372036854775808)|s64[] constant(9223372036854775807)|u64[] constant(18446744073709551615)|u64[] constant(-1)
f32[] constant(1)|f32[] constant(-1.5)|f32[] constant(1e10)|f32[] constant(1.e3)|f32[] constant(1E-3)|f32[] constant(-.5)
f32[] constant(nan)|f32[] constant(-nan)|f32[] constant(inf)|f32[] constant(-inf)|f32[] constant(nan(0x1))
f32[] constant(-nan(0x7fffff))|f64[] constant(nan(0xfffffffffffff))|f16[] constant(nan(0x1))|bf16[] constant(nan(0x7f))
f32[] constant(3.4028235e38)|f32[] constant(1e-45)|f32[] constant(0.1)|f64[] constant(0.1)|f64[] constant(1e308)
f32[] constant(-0)|f32[] constant(-0.0)|bf16[4] constant({-0, -0.0, 0, -0e1})|c64[] constant((-0, -0.0))|f16[] constant(65504)|f16[] constant(65519)|f16[] constant(6e-8)|bf16[] constant(3.14159)
f8e5m2[] constant(57344)|f8e5m2[] constant(1.3)|f8e4m3fn[] constant(448)|f8e4m3fn[] constant(nan)|f8e4m3[] constant(240)
f8e4m3b11fnuz[] constant(30)|f8e5m2fnuz[] constant(57344)|f8e4m3fnuz[] constant(240)|f8e3m4[] constant(15.5)
f8e5m2[] constant(inf)|f8e4m3[] constant(-inf)|f8e4m3fnuz[] constant(nan)|f8e5m2[] constant(nan(0x1))
f8e8m0fnu[4] constant({5.87747e-39, 5.9e-39, 1e-300, 8.8e-39})|f8e8m0fnu[] constant(1)|f8e8m0fnu[] constant(0.5)|f8e8m0fnu[] constant(nan)|f8e8m0fnu[] constant(3)
f4e2m1fn[4] constant({0, 0.5, -6, 3})|f4e2m1fn[6] constant({nan, -nan, inf, -inf, 1e30, -7})|(f32[], s32[2]) constant((1 {2, 3}))|f4e2m1fn[2] constant({1.25, 5})
f8e5m2[4] constant({1.1, 1.2, 1.3, 0.00001})|f8e4m3fn[4] constant({1.1, 0.001, -0.002, 17})
c64[] constant((1, 2))|c64[] constant((nan, 2))|c128[] constant((-nan, inf))|c64[] constant((1, -nan))|c64[3] constant({(1, -2.5), (nan, nan), (0, inf)})|c128[] constant((1e300, -1e300))
f32[0] constant({})|f32[2,0] constant({{}, {}})|f32[0,2] constant({})|f32[2,2] constant({{1, 2}, {3, 4}})
f32[2,2]{0,1} constant({{1, 2}, {3, 4}})|s32[2,3,2]{0,2,1} constant({{{1,2},{3,4},{5,6}},{{7,8},{9,10},{11,12}}})
f32[2] constant({1 2})|f32[2] constant({1,,2})|f32[2] constant({,1,2,})|f32[2] constant({/*i0=*/1, /*i1=*/2})
f32[2]{0:T(256)} constant({1, 2})|s4[8]{0:T(256)E(4)} constant({1,2,3,4,5,6,7,-8})
(f32[], s32[2]) constant((1, {2, 3}))|() constant(())|((f32[]), s32[]) constant(((1), 2))|f32[2] constant(1)
f32[16] constant({...})|f32[4,4] constant({...})|(f32[16], s32[]) constant(({...}, 3))
""".replace("\n", "|").strip("|").split("|")

LINES = [
    "f32[2] negate(f32[2] a)",
    "f32[2] negate(f32[2] %a)",
    "%foo = f32[2] negate(f32[2] %a)",
    "ROOT foo = f32[2] negate(f32[2] a)",
    "foo = f32[2]{0} negate(f32[2]{0} a), metadata={op_type=\"t\" op_name=\"a/b\" source_file=\"f.py\" source_line=3}",
    "f32[2] negate(f32[2] a), metadata={op_name=\"x\", source_line=1 source_end_line=2 source_column=3 source_end_column=4}",
    "f32[2] negate(f32[2] a), metadata={}",
    "f32[2] negate(f32[2] a), metadata={deduplicated_name=\"d\" scheduling_name=\"s\" profile_type={1,2}}",
    "f32[2] negate(f32[2] a), metadata={op_name=\"q\\\"uo\\nte\\\\\" op_type='single'}",
    "f32[2] negate(f32[2] a), backend_config=\"abc\"",
    "f32[2] negate(f32[2] a), backend_config=\"a\\\"b\\x41\\101\"",
    "f32[2] negate(f32[2] a), backend_config={\"a\":{\"b\":[1,2,\"}\"]}}",
    "f32[2] negate(f32[2] a), backend_config={}",
    "f32[2] negate(f32[2] a), backend_config=\"\"",
    "f32[2] negate(f32[2] a), frontend_attributes={x=\"1\", y={\"z\":1}}",
    "f32[2] negate(f32[2] a), statistics={visualizing_index=0,a=1,b=2.5,c=-3}",
    "f32[4] all-gather(f32[2] a), replica_groups={{0,1}}, dimensions={0,0}", "s32[] get-dimension-size(f32[4] a), dimensions={0,0}",
    "f32[2] reduce-scatter(f32[4] a), replica_groups={{0,1}}, dimensions={0,0}, " + ADD, "f32[4] ragged-all-to-all(f32[4] a, s32[2] b), replica_groups={{0,1}}",
    "f32[2] negate(f32[2] a), statistics={}", "f32[2] negate(f32[2] a), statistics={visualizing_index=3}",
    "f32[2] negate(f32[2] a), statistics={visualizing_index=3,a=-0.0,b=1e300,c=1e400}",
    "f32[2] negate(f32[2] a), origin={{\"x\"}}",
    "f32[2] negate(f32[2] a), origin={{\"x\" {1,2}}}",
    "(f32[],f32[]) tuple(f32[] a, f32[] b), origin={({\"x\"},{\"y\" {3}})}",
    "((f32[],f32[]),f32[]) tuple((f32[],f32[]) a, f32[] b), origin={(({\"x\"},{\"y\"}),{\"z\" {3}})}",
    "f32[2] call(f32[2] a), to_apply={ROOT x = f32[2] parameter(0)}, origin={[synthetic_call]}",
    "f32[2] exponential(f32[2] a), result_accuracy={mode=highest}",
    "f32[2] exponential(f32[2] a), result_accuracy={mode=default}",
    "f32[2] tanh(f32[2] a), result_accuracy={tolerance={atol=0.1, rtol=0.2, ulps=3}}",
    "f32[2] tanh(f32[2] a), result_accuracy={tolerance={}}",
    "f32[2] parameter(0), parameter_replication={true}",
    "(f32[2],f32[]) parameter(0), parameter_replication={true,false}",
    "f32[2] add(f32[2] a, f32[2] multiply(f32[2] b, f32[2] c))",
    "f32[2] add(f32[2] a,, f32[2] b,)",
    "f32[2] negate(,f32[2] a)",
    "() tuple(,)",
    "f32[4,4] convolution(f32[4,4] a, f32[4,4] b), dim_labels=bf_io->bf, batch_group_count=0",
    "f32[4,8] scaled-dot(f8e4m3fn[4,64] a, f8e4m3fn[64,8] b, f8e8m0fnu[4,2] c, f8e8m0fnu[2,8] d), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "pred[2] compare(f32[2] a, f32[2] b), direction=EQ",
    "pred[2] compare(s32[2] a, s32[2] b), direction=LT",
    "pred[2] compare(u32[2] a, u32[2] b), direction=GE",
    "pred[2] compare(pred[2] a, pred[2] b), direction=NE",
    "pred[2] compare(f32[2] a, f32[2] b), direction=GT, type=TOTALORDER",
    "pred[2] compare(c64[2] a, c64[2] b), direction=EQ",
    "f32[4] broadcast(f32[] a), dimensions={}",
    "f32[4] broadcast(f32[] a)",
    "f32[4,5] broadcast(f32[5] a), dimensions={1}",
    "f32[6] concatenate(f32[2] a, f32[4] b), dimensions={0}",
    "f32[4] iota(), iota_dimension=0",
    "f32[4] reshape(f32[2,2] a)",
    "f32[<=4] reshape(f32[2,<=2] a), inferred_dimension=0",
    "f32[4] bitcast(f32[2,2] a)",
    "s32[4] bitcast-convert(f32[4] a)",
    "s32[4] convert(f32[4] a)",
    "f32[3,2] transpose(f32[2,3] a), dimensions={1,0}",
    "f32[4] reverse(f32[4] a), dimensions={0}",
    "f32[2] slice(f32[8] a), slice={[0:4:2]}",
    "f32[2,3] slice(f32[8,4] a), slice={[0:2], [1:4:1]}",
    "f32[] slice(f32[] a), slice={}",
    "f32[2] dynamic-slice(f32[8] a, s32[] i), dynamic_slice_sizes={2}",
    "f32[2,2] dynamic-slice(f32[8,8] a, s32[2] i), dynamic_slice_sizes={2,2}",
    "f32[8] dynamic-update-slice(f32[8] a, f32[2] b, s32[] i)",
    "f32[8] dynamic-reshape(f32[2,4] a, s32[] i)",
    "f32[6] pad(f32[4] a, f32[] b), padding=1_1",
    "f32[7,9] pad(f32[4,3] a, f32[] b), padding=0_0_1x-1_3_2",
    "f32[] reduce(f32[4] a, f32[] b), dimensions={0}, " + ADD,
    "(f32[], s32[]) reduce(f32[4] a, s32[4] b, f32[] c, s32[] d), dimensions={0}, " + PAIR,
    "f32[4] map(f32[4] a), dimensions={0}, to_apply={ x = f32[] parameter(0) ROOT y = f32[] negate(x) }",
    "f32[4] sort(f32[4] a), dimensions={0}, is_stable=true, to_apply={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = pred[] compare(x, y), direction=LT }",
    "(f32[2], s32[2]) topk(f32[4] a), k=2, largest=true",
    "(f32[2], s32[2]) topk(f32[4] a), k=2",
    "f32[1,2,2,1] reduce-window(f32[1,4,4,1] a, f32[] b), window={size=1x2x2x1 stride=1x2x2x1}, " + ADD,
    "f32[1,4,4,1] reduce-window(f32[1,4,4,1] a, f32[] b), window={size=1x3x3x1 pad=0_0x1_1x1_1x0_0 lhs_dilate=1x1x1x1 rhs_dilate=1x1x1x1}, " + ADD,
    "f32[] reduce-window(f32[] a, f32[] b), window={}, " + ADD,
    "f32[4] reduce-window(f32[4] a, f32[] b), window={size=1}, " + ADD,
    "f32[4] select-and-scatter(f32[4] a, f32[2] b, f32[] c), window={size=2 stride=2}, select={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = pred[] compare(x, y), direction=GE }, scatter={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }",
    "f32[1,2,2,4] convolution(f32[1,4,4,3] a, f32[3,3,3,4] b), window={size=3x3}, dim_labels=b01f_01io->b01f",
    "f32[1,4,4,4] convolution(f32[1,4,4,3] a, f32[3,3,3,4] b), window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f, operand_precision={high,highest}",
    "f32[1,4,4,4] convolution(f32[1,4,4,4] a, f32[3,3,1,4] b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4, batch_group_count=1",
    "f32[4,4] convolution(f32[4,3] a, f32[3,4] b), dim_labels=bf_io->bf",
    "f32[4,4] convolution(f32[4,3] a, f32[3,4] b), dim_labels=bf_io->bf, window={}, convolution_kind=fprop, sparsity_config={}",
    "f32[1,1,4] convolution(f32[1,4,4] a, f32[1,4,4] b), dim_labels=?bf_?io->?bf",
    "f32[2,4] dot(f32[2,3] a, f32[3,4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "f32[5,2,4] dot(f32[5,2,3] a, f32[5,3,4] b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, operand_precision={default,highest}, algorithm=dot_f32_f32_f32",
    "f32[2,3] dot(f32[2] a, f32[3] b)",
    "f32[4,4] scaled-dot(f32[4,4] a, f32[4,4] b, f32[4,4] c, f32[4,4] d), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "f32[4,4] ragged-dot(f32[4,4] a, f32[4,4] b, s32[4] c), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={0}, rhs_group_dims={}",
    "f32[2,3] gather(f32[5,3] a, s32[2,1] b), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, indices_are_sorted=true",
    "f32[2,3] gather(f32[2,5,3] a, s32[2,1] b), offset_dims={1}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1,3}",
    "f32[5,3] scatter(f32[5,3] a, s32[2,1] b, f32[2,3] c), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, indices_are_sorted=true, unique_indices=true, " + ADD,
    "f32[4] fft(c64[3] a), fft_type=IRFFT, fft_length={4}",
    "f32[4,4] cholesky(f32[4,4] a), lower=true",
    "f32[4,4] cholesky(f32[4,4] a)",
    "f32[4,4] triangular-solve(f32[4,4] a, f32[4,4] b), left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE",
    "f32[4,4] triangular-solve(f32[4,4] a, f32[4,4] b)",
    "(f32[4,2], f32[2], f32[2]) batch-norm-training(f32[4,2] a, f32[2] b, f32[2] c), epsilon=0.001, feature_index=1",
    "f32[4,2] batch-norm-inference(f32[4,2] a, f32[2] b, f32[2] c, f32[2] d, f32[2] e), epsilon=1, feature_index=1",
    "(f32[4,2], f32[2], f32[2]) batch-norm-grad(f32[4,2] a, f32[2] b, f32[2] c, f32[2] d, f32[4,2] e), epsilon=0.001, feature_index=1",
    "f32[4] reduce-precision(f32[4] a), exponent_bits=5, mantissa_bits=10",
    "f32[4] rng(f32[] a, f32[] b), distribution=rng_normal",
    "(u64[2], u32[4]) rng-bit-generator(u64[2] a), algorithm=rng_philox",
    "u64[1] rng-get-and-update-state(), delta=4096",
    "f32[4] stochastic-convert(f32[4] a, u32[4] b)",
    "s32[4] mulhi(s32[4] a, s32[4] b)",
    "f32[4] clamp(f32[] a, f32[4] b, f32[] c)",
    "f32[4] select(pred[4] a, f32[4] b, f32[4] c)",
    "s32[] get-dimension-size(f32[4] a), dimensions={0}",
    "f32[<=4] set-dimension-size(f32[4] a, s32[] b), dimensions={0}",
    "f32[4] opt-barrier(f32[4] a)",
    "f32[4] domain(f32[4] a), domain={kind=\"sharding\", entry={replicated}, exit={maximal device=1}}",
    "token[] after-all()",
    "token[] after-all(token[] a, token[] b)",
    "f32[4] add-dependency(f32[4] a, token[] b)",
    "u32[] replica-id()",
    "u32[] partition-id()",
    "(f32[4], token[]) infeed(token[] a)",
    "(f32[4], token[]) infeed(token[] a), infeed_config=\"x\\ny\"",
    "token[] outfeed(f32[4] a, token[] b)",
    "token[] outfeed(f32[4] a, token[] b), outfeed_shape=f32[4]{0}, outfeed_config=\"c\"",
    "(f32[4], u32[], token[]) send(f32[4] a, token[] b), channel_id=3, is_host_transfer=true",
    "token[] send-done((f32[4], u32[], token[]) a), channel_id=3",
    "(f32[4], u32[], token[]) recv(token[] b), channel_id=3",
    "(f32[4], token[]) recv-done((f32[4], u32[], token[]) a), channel_id=3, is_host_transfer=true",
    "f32[4] custom-call(f32[4] a), custom_call_target=\"foo\"",
    "f32[4]{0} custom-call(f32[4]{0} a), custom_call_target=\"foo\", operand_layout_constraints={f32[4]{0}}, custom_call_has_side_effect=true, backend_config=\"x\"",
    "f32[4] custom-call(f32[4] a), custom_call_target=\"f\", api_version=API_VERSION_TYPED_FFI, schedule=SCHEDULE_EARLIEST, padding_type=PADDING_SAME, output_to_operand_aliasing={{}: (0, {})}",
    "f32[4] custom-call(f32[4] a), custom_call_target=\"f\", literal=f32[2]{0} {1, 2}, window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=2, batch_group_count=3",
    "f32[4] custom-call(f32[4] a), custom_call_target=\"f\", literal=(f32[] 1, s32[2]{0} {1, 2})",
    "f32[4] custom-call(f32[4] a), custom_call_target=\"f\", to_apply={ROOT x = f32[4] parameter(0)}",
    "f32[4] custom-call(f32[4] a), custom_call_target=\"f\", called_computations={{ROOT x = f32[4] parameter(0)}, {ROOT x = f32[4] parameter(0)}}",
    "f32[4] fusion(f32[4] a), kind=kLoop, calls={ROOT x = f32[4] parameter(0)}, output_to_operand_aliasing={{}: (0, {})}",
    "f32[4] call(f32[4] a), to_apply={ROOT x = f32[4] parameter(0)}, is_composite=true",
    "f32[4] while(f32[4] a), condition={ x = f32[4] parameter(0) ROOT y = pred[] constant(false) }, body={ROOT x = f32[4] parameter(0)}",
    "f32[4] while(f32[4] a), body={ROOT x = f32[4] parameter(0)}, condition={ x = f32[4] parameter(0) ROOT y = pred[] constant(false) }",
    "f32[4] conditional(pred[] p, f32[4] a, f32[4] b), true_computation={ROOT x = f32[4] parameter(0)}, false_computation={ROOT y = f32[4] parameter(0)}",
    "f32[4] conditional(s32[] p, f32[4] a, f32[4] b), branch_computations={{ROOT x = f32[4] parameter(0)}, {ROOT y = f32[4] parameter(0)}}",
    "f32[4] all-reduce(f32[4] a), " + ADD,
    "f32[4] all-reduce(f32[4] a), channel_id=1, replica_groups={{0,1},{2,3}}, constrain_layout=true, use_global_device_ids=true, " + ADD,
    "f32[4] all-reduce(f32[4] a), channel_id=1, replica_groups=[2,4]<=[8], mode=cross_replica_and_partition, " + ADD,
    "f32[4] all-reduce(f32[4] a), channel_id=1, replica_groups=[2,4]<=[4,2]T(1,0), " + ADD,
    "f32[4] all-reduce(f32[4] a), channel_id=1, replica_groups=[2,4]<=[2,2,2]T(0,1,2), " + ADD,
    "f32[4] all-reduce(f32[4] a), replica_groups=mesh[\"a\"=2,\"b\"=4] {\"a\",\"b\":(1)2}, " + ADD,
    "(f32[4],f32[4]) all-reduce-start(f32[4] a), replica_groups={}, " + ADD,
    "f32[4] all-reduce-done((f32[4],f32[4]) a)",
    "f32[8] all-gather(f32[4] a), replica_groups={{0,1}}, dimensions={0}",
    "(f32[4], f32[8]) all-gather-start(f32[4] a), replica_groups={{0,1}}, dimensions={0}, channel_id=7, use_global_device_ids=true",
    "f32[8] all-gather-done((f32[4], f32[8]) a)",
    "f32[2] reduce-scatter(f32[4] a), replica_groups={{0,1}}, dimensions={0}, " + ADD,
    "f32[4] all-to-all(f32[4] a), replica_groups={{0,1}}, dimensions={0}",
    "(f32[4], f32[4]) all-to-all(f32[4] a, f32[4] b), replica_groups={{0,1}}",
    "f32[4] ragged-all-to-all(f32[4] a, f32[4] b, s32[2] c, s32[2] d, s32[2] e, s32[2] f), replica_groups={{0,1}}",
    "f32[4] collective-broadcast(f32[4] a), replica_groups={{0,1}}",
    "f32[4] collective-permute(f32[4] a), source_target_pairs={{0,1},{1,0}}, channel_id=1",
    "f32[4] collective-permute(f32[4] a), source_target_pairs={}",
    "(f32[4], f32[4], u32[], u32[]) collective-permute-start(f32[4] a), source_target_pairs={{0,1},{1,0}}",
    "f32[4] collective-permute(f32[4] a, f32[4] b, (s32[]) c, (s32[]) d), source_target_pairs={{0,1}}, slice_sizes={{2}}",
    "f32[4] collective-permute-done((f32[4], f32[4], u32[], u32[]) a)",
    "(f32[4], f32[4], u32[]) copy-start(f32[4] a)",
    "(f32[4], f32[4], u32[]) copy-start(f32[4] a), cross_program_prefetch_index=0",
    "f32[4] copy-done((f32[4], f32[4], u32[]) a)",
    "(f32[4], f32[]) scan(f32[4] a, f32[] b), dimensions={0}, num_carries=1, to_apply={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = (f32[],f32[]) tuple(x,y) }",
    "(f32[4], f32[]) scan(f32[4] a, f32[] b), dimensions={0}, num_carries=1, is_reverse=true, is_associative=true, to_apply={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = (f32[],f32[]) tuple(x,y) }",
    "((f32[4]), f32[4], s32[]) negate-start(f32[4] a)",
    "((f32[8]), f32[2], s32[]) slice-start(f32[8] a), slice={[0:2]}, async_execution_thread=\"t\", metadata={op_name=\"x\"}, backend_config=\"b\", frontend_attributes={k=\"v\"}, sharding={replicated}",
    "((f32[8]), f32[2], s32[]) custom-call-start(f32[8] a), custom_call_target=\"foo\"",
    "((f32[4]), f32[4], s32[]) async-start(f32[4] a), calls={ROOT x = f32[4] parameter(0)}",
]

SHARDINGS = """
{replicated}|{maximal device=3}|{manual}|{unknown}|{unreduced}|{devices=[2]0,1}|{devices=[2,1]1,0}|{devices=[2,2]<=[4]}
{devices=[2,2]<=[2,2]T(1,0)}|{devices=[2,2]<=[1,2,2]T(2,0,1)}|{devices=[4,2]<=[2,2,2]T(1,2,0)}|{devices=[2,2]<=[2,2]T(0,1)}
{devices=[2,2]3,1,2,0 last_tile_dim_replicate}|{devices=[1,4]3,1,2,0 last_tile_dim_replicate}|{devices=[4,1]3,1,2,0 last_tile_dim_replicate}
{devices=[2,2,2]7,6,5,4,3,2,1,0 last_tile_dims={manual,replicated}}|{devices=[2,2,2]7,6,5,4,3,2,1,0 last_tile_dims={replicated,manual}}
{devices=[1,2,2]3,2,1,0 last_tile_dims={replicated,replicated}}|{devices=[2,2,2]7,6,5,4,3,2,1,0 last_tile_dims={replicated,replicated}}
{devices=[1,4]<=[4] last_tile_dims={manual}}|{devices=[1,4]<=[4] last_tile_dims={unreduced}}|{devices=[2,4]<=[8] last_tile_dims={unreduced}}
{devices=[4,2]<=[2,2,2]T(0,2,1) last_tile_dim_replicate}|{devices=[2,4]<=[8] last_tile_dims={replicated,manual}}
{devices=[1,2,2,2]<=[2,2,2]T(2,1,0) last_tile_dims={replicated,manual}}|{devices=[2,2,2]<=[2,2,2]T(2,1,0) last_tile_dims={replicated,manual}}
{devices=[2,2,2]<=[2,2,2]T(2,1,0) last_tile_dims={manual,replicated}}|{devices=[2,2,1]<=[4] last_tile_dims={manual,replicated}}
{devices=[1,1]<=[1]}|{devices=[2]0,1 shard_like 7}|{replicated shard_as 3}|{devices=[2]0,1 metadata={op_name="a"}}|{manual metadata={{op_name="a"},{op_name="b"}}}
{mesh["a"=2,"b"=4], replicated}|{mesh["a"=2,"b"=4], [{"a"},{"b"}]}|{mesh["a"=2,"b"=4], [{"a"},{"b":(1)2, ?}], replicated={"b":(2)2}}
{mesh["a"=2,"b"=4], device_ids=(0,2,1,3,4,5,6,7), [{"a"},{"b"}]}|{mesh["a"=2,"b"=4], [{"a"},{?}], unreduced={"b"}}
{mesh["a"=2,"b"=4], [{"a"},{}], manual={"b"}, metadata={{op_name="x"}}}|{mesh["a"=2,"b"=4], manual}|{mesh["a"=2,"b"=4], unreduced}
{mesh[], replicated}|{mesh["a"=2] [{"a"}]}|{mesh["a"=2] replicated}|{mesh["a"=2], device_ids=(1,0) [{"a"}]}|{mesh["a"=2,"b"=4], device_ids=([8]), [{"a"}]}
{mesh["a"=2,"b"=4], device_ids=([2,4]T(0,1)), [{"a"}]}|{mesh["a"=2,"b"=4], device_ids=([4,2]T(1,0)), [{"a"}]}|{devices=[1,2,4]<=[2,4]T(1,0) last_tile_dim_replicate}
{devices=[4,1,4]<=[2,2,4]T(2,1,0) last_tile_dim_replicate}|{devices=[2,1,8]<=[2,2,4]T(1,2,0) last_tile_dim_replicate}|{devices=[4,3]<=[3,4]T(1,0) last_tile_dim_replicate}
{maximal_mesh[device_id=3]}|{maximal_mesh[device_id=3], metadata={op_name="x"}}|{mesh["a"=2,"b"=4], [{},{}]}
{replicated shard_as 1 shard_like 2}|{replicated shard_like 2 shard_as 1}|{replicated shard_like -1}|{replicated shard_as -5}|{manual shard_as 2 shard_as -1}
{devices=[2]0,1 devices=[2]3,2}|{device=2 devices=[2]1}|{mesh["a"=2,"b"=3], [{"b","a"}]}|{mesh["a"=16], [{"a":(4)2,"a":(1)2}]}
{mesh["a"=2], [{}], metadata={op_name="a"}, metadata={op_name="b"}}|{mesh["a"=2], manual, metadata={op_name="a"}}
{mesh["a"=2,"b"=4], device_ids=([9223372036854775807,9223372036854775807,2]T(0,1,2)), [{"a"}]}
""".replace("\n", "|").strip("|").split("|")

TUPLE_SHARDINGS = ["{replicated}", "{{replicated},{maximal device=1}}", "{devices=[2]0,1}", "{}"]

MODULES = [
    # Names, order, scopes.
    "HloModule m\nf { a = f32[] parameter(0) ROOT a.01 = f32[] add(a,a) }\ng { a = f32[] parameter(0) a.1 = f32[] call(a), to_apply=f }\nENTRY e { a = f32[] parameter(0) b = f32[] call(a), to_apply=g ROOT c = f32[] call(b), to_apply=f }\n",
    "ENTRY e { a = f32[] parameter(0) }",
    "e { a = f32[] parameter(0) ROOT b = f32[] negate(a) c = f32[] negate(b) }",
    "f { x = f32[] parameter(0) }\ng { x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=f }",
    "HloModule m\nENTRY %e (a: f32[2], b: (f32[], s32[])) -> f32[2] {\n  %a = f32[2] parameter(0)\n  %b = (f32[], s32[]) parameter(1)\n  ROOT %c = f32[2] negate(f32[2] %a)\n}\n",
    "HloModule m\r\n\r\nENTRY e {\r\n  a = f32[] parameter(0)\r\n}\r\n",
    "HloModule m\r\rENTRY e {\r  a = f32[] parameter(0)\r}\r",
    "HloModule m\nENTRY e { a = f32[] parameter(0) ROOT c = f32[] add(a, f32[] negate(a)) }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) ROOT c = f32[] add(negate(a), exponential(a)) }",
    "HloModule m\nENTRY e { a = f32[3] parameter(0) b = add(a, a) c = negate(b) ROOT t = tuple(b, c) }",
    "HloModule m\nENTRY e { a = f32[3,4] parameter(0) b = transpose(a), dimensions={1,0} ROOT d = dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) b = f32[] negate(a) ROOT w = f32[] add(b,a), control-predecessors={b, a} }",
    "HloModule m\nENTRY e { b = f32[] parameter(1) a = f32[] parameter(0) ROOT w = f32[] add(a,b) }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) }, execution_thread=\"main\"",
    "HloModule m\nw { ROOT a = f32[] parameter(0) }, execution_thread=\"t\"\nENTRY e { a = f32[] parameter(0) s = ((f32[]), f32[], s32[]) async-start(a), async_execution_thread=\"t\", calls=w u = ((f32[]), f32[], s32[]) async-update(s) ROOT d = f32[] async-done(u) }",
    "HloModule m\nENTRY e { a = f32[8] parameter(0) s = ((f32[8]), f32[2], s32[]) slice-start(a), slice={[0:2]} u = ((f32[8]), f32[2], s32[]) slice-update(s) ROOT d = f32[2] slice-done(u) }",
    "HloModule m, is_scheduled=true\nENTRY e { a = f32[] parameter(0) c = f32[] negate(a) b = f32[] exponential(a) ROOT d = f32[] add(b, c) }",
    "HloModule m\nf { p = f32[] parameter(0) ROOT n = f32[] negate(p) }\nENTRY e { a = f32[] parameter(0) ROOT d = f32[] fusion(a), kind=kLoop, calls=f }",
    "HloModule m\nENTRY e { maximal_ = f32[] parameter(0) %maximal = f32[] negate(maximal_) ROOT %true = f32[] negate(%maximal) }",
    "HloModule m\n__f { a = f32[] parameter(0) }\nENTRY e { _ = f32[] parameter(0) __xla_x = f32[] negate(_) ROOT r = f32[] call(__xla_x), to_apply=__f }",
    "HloModule m\nENTRY e { a = f32[] parameter(0), sharding={replicated} ROOT b = (f32[]) tuple(a), sharding={{replicated}} }",
    "HloModule m\n\nFileNames\n1 \"a.py\"\n2 \"b.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n1 {file_name_id=1 function_name_id=1 line=3 end_line=4 column=5 end_column=6}\n2 {file_name_id=2 function_name_id=1 line=3 end_line=4 column=5 end_column=6}\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=2 parent_frame_id=2}\n3 {file_location_id=1 parent_frame_id=2}\n\nENTRY e { a = f32[] parameter(0), metadata={stack_frame_id=3} ROOT b = f32[] negate(a), metadata={stack_frame_id=2} }\n",
    "HloModule m, input_output_alias={ {1}: (1, {}), {0}: (0, {0}, must-alias) }\nENTRY e { a = (f32[]) parameter(0) b = f32[] parameter(1) c = f32[] get-tuple-element(a), index=0 ROOT t = (f32[], f32[]) tuple(c, b) }",
    "HloModule m\nENTRY e { a = f32[2] parameter(0) ROOT n = f32[2]  {0} negate(a) }",
    "HloModule m\nENTRY e { ROOT a = f32[2] parameter(0) } // end",
    "HloModule m\nENTRY e { a = (f32[2], s32[]) parameter(0) b = get-tuple-element(a), index=1 ROOT c = b }".replace("ROOT c = b", "ROOT c = add(b, b)"),
    # Names: `buffer` and `tuple` are no reserved words; a name that is taken gets the first free number.
    "HloModule m\nbuffer { ROOT tuple = f32[] parameter(0) }\nENTRY tuple { buffer = f32[] parameter(0) ROOT r = f32[] call(buffer), to_apply=buffer }",
    "HloModule m\nf { p.1 = f32[] parameter(0) }\ng { p.1 = f32[] parameter(0) ROOT c = f32[] call(p.1), to_apply=f }\nENTRY e { p.1 = f32[] parameter(0) ROOT r = f32[] call(p.1), to_apply=g }",
    # What is said of an instruction of an asynchronous chain is said of the wrapped one, and its thread is that of all it calls.
    "HloModule m\nc { p = f32[2] parameter(0) ROOT r = f32[2] negate(p), metadata={op_name=\"in\"}, backend_config=\"x\" }\nENTRY e { p = f32[2] parameter(0) s = ((f32[2]), f32[2], u32[]) async-start(p), calls=c, metadata={op_name=\"st\"}, backend_config=\"y\", async_execution_thread=\"foo\" u = ((f32[2]), f32[2], u32[]) async-update(s), metadata={op_name=\"up\"} ROOT d = f32[2] async-done(u), frontend_attributes={k=\"v\"} }",
    "HloModule m\nf { p = f32[2] parameter(0) ROOT r = f32[2] negate(p) }\nENTRY e { p = f32[2] parameter(0) s = ((f32[2]), f32[2]) call-start(p), to_apply=f, async_execution_thread=\"t\" ROOT d = f32[2] call-done(s) }",
    "HloModule m\nf { p = f32[2] parameter(0) ROOT r = f32[2] negate(p) }, execution_thread=\"explicit\"\nENTRY e { p = f32[2] parameter(0) s = ((f32[2]), f32[2]) call-start(p), to_apply=f ROOT d = f32[2] call-done(s) }",
    # A part of a tuple has the origin of what was put there.
    "HloModule m\nENTRY e { a = (f32[], s32[]) parameter(0), origin={({\"x\"}, {\"y\"})} t = ((f32[], s32[])) tuple(a) h = (f32[], s32[]) get-tuple-element(t), index=0 u = (f32[], (f32[], s32[])) tuple(f32[] constant(1), h) ROOT g = (f32[], s32[]) get-tuple-element(u), index=1 }",
    "HloModule m\nENTRY e { a = f32[] parameter(0), origin={{\"x\"}} t = (f32[]) tuple(a) ROOT g = f32[] get-tuple-element(t), index=0, origin={{\"z\"}} }",
    "HloModule m\nENTRY e { a = f32[2] parameter(0), metadata={op_name=\"x\" metadata_payload=\"abc\"} b = f32[2] negate(a), metadata={metadata_payload=\"zz\"} c = f32[2] negate(b), metadata={metadata_payload=\"abc\"} ROOT d = f32[2] negate(c), metadata={metadata_payload=\"\"} }",
    # XLA drops this field of older versions.
    "HloModule m\nENTRY e { p = f32[2] parameter(0) q = f32[2] negate(p), backend_config={\"a\":1, \"wait_on_operation_queues\" : [ ] , \"b\":2} r = f32[2] negate(q), backend_config={\"wait_on_operation_queues\":[]} ROOT s = f32[2] negate(r), backend_config={\"wait_on_operation_queues\":[1],\"wait_on_operation_queues\":[],\"c\":3} }",
    "HloModule m\nENTRY e { a = f32[4,4] parameter(0) ROOT c = f32[4,4] convolution(a, a), dim_labels=bf_io->bf, sparsity_config={lhs={sparsity=2x4 dimension=0 stride=1} rhs={}} }",
    "HloModule m\nENTRY e { a = f32[4,4] parameter(0) ROOT c = f32[4,4] custom-call(a, a), window={}, dim_labels=bf_io->bf, custom_call_target=\"f\" }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(f32[] a, f32[], b) }",
    "HloModule m\nENTRY e { ROOT a = f32[70000] constant(1) }",
    # An initial value gives a reduce-window its type, the computation gives a reduce its type.
    "HloModule m\nf { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }\nENTRY e { p = f32[4] parameter(0) c = bf16[] constant(5) w = reduce-window(p, c), to_apply=f, window={size=2} r = reduce(p, c), to_apply=f, dimensions={0} ROOT t = tuple(w, r) }",
    "HloModule m\nENTRY e { p = pred[10] parameter(0) a = s4[10]{0:E(4)} parameter(1) s = select(p, a, a) l = compare(a, a), direction=LT c = clamp(a, a, a) ROOT t = tuple(s, l, c) }",
    "HloModule m, entry_computation_layout={()->f32[2]{0:S(5)}}, allow_spmd_sharding_propagation_to_output={true}\n// a remark\n\nENTRY e { ROOT c = f32[2] constant({1, 2}) }",
]

    # Inferred shapes with layouts.
INFERRED = [
    'b = negate(a)',
    'b = add(a, a)',
    'b = add(a, c)',
    'b = add(c, a)',
    'b = tuple(a, c)',
    'b = compare(a, c), direction=EQ',
    'b = select(p, c, a)',
    'b = clamp(a, c, a)',
    'b = complex(a, a)',
    'b = copy(a)',
    'b = transpose(a), dimensions={1,0}',
    'b = transpose(c), dimensions={1,0}',
    'b = reverse(a), dimensions={0}',
    'b = concatenate(a, c), dimensions={0}',
    'b = is-finite(a)',
    'b = reduce(a, s), dimensions={0}, to_apply=red',
    'b = pad(a, s), padding=1_1x0_0',
    'b = dot(a, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}',
    'b = call(a), to_apply={ROOT x = f32[3,4]{0,1} parameter(0)}',
    'b = while(a), body={ROOT x = f32[3,4]{0,1} parameter(0)}, condition={x = f32[3,4]{0,1} parameter(0) ROOT y = pred[] constant(1)}',
    'b = reduce-window(a, s), window={size=1x1}, to_apply=red',
    'b = map(a), dimensions={0,1}, to_apply={x = f32[] parameter(0) ROOT y = f32[] negate(x)}',
    'b = sort(a), dimensions={0}, to_apply={x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = pred[] compare(x, y), direction=LT}',
    'b = cholesky(q)',
    'b = fft(z), fft_type=FFT, fft_length={4}',
    'b = exponential(a)',
    'b = broadcast(s), dimensions={}',
    'b = broadcast(s), dimensions={2,3}',
    'b = broadcast(v), dimensions={2}',
    'b = gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}',
    'b = set-dimension-size(a, n), dimensions={0}',
    'b = get-dimension-size(a), dimensions={0}',
    'b = triangular-solve(q, q), left_side=true, transpose_a=ADJOINT',
    'b = after-all()',
    'b = partition-id()',
    'b = conditional(n, a, a), branch_computations={{ROOT x = f32[3,4]{0,1} parameter(0)}, {ROOT x = f32[3,4]{0,1} parameter(0)}}',
    'b = get-tuple-element(w), index=0',
    'b = domain(a), domain={kind="sharding", entry={replicated}, exit={replicated}}',
    'b = scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=red',
    'b = select-and-scatter(a, c, s), window={size=1x1}, select={x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = pred[] compare(x, y), direction=LT}, scatter={x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y)}',
    'b = topk(a), k=2',
    'b = real(z)',
    'b = shift-left(n, n)',
    'b = add(d, a)',
    'b = add(a, d)',
    'b = negate(d)',
    'b = add(a, f32[3,4] constant({{1,1,1,1},{1,1,1,1},{1,1,1,1}}))',
    'b = batch-norm-training(a, v, v), epsilon=1, feature_index=1',
    'b = atan2(a, c)',
    'b = multiply(h, a)',
    'b = convolution(x4, k4), window={size=1x1}, dim_labels=b01f_01io->b01f',
    'b = erf(a)',
    'b = and(p, p)',
    'b = dot(a, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}',
    'b = add-dependency(a, tok)',
    'b = imag(z)',
    # XLA takes the scales of the left side for the right side.
    'b = scaled-dot(a, a, t, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}',
]

INFERENCE_HEADER = """HloModule m
red { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
ENTRY e {
a = f32[3,4]{0,1:S(1)} parameter(0)
c = f32[3,4] parameter(1)
p = pred[3,4]{0,1} parameter(2)
s = f32[] parameter(3)
t = f32[4,5]{0,1} parameter(4)
q = f32[4,4]{0,1} parameter(5)
z = c64[3,4]{0,1} parameter(6)
i = s32[2,1]{0,1} parameter(7)
n = s32[] parameter(8)
w = (f32[3,4]{0,1}, s32[]) parameter(9)
u = f32[2,4]{0,1} parameter(10)
d = f32[<=3,4]{0,1} parameter(11)
v = f32[4] parameter(12)
h = bf16[3,4]{0,1} parameter(13)
x4 = f32[1,4,4,3]{0,1,2,3} parameter(14)
k4 = f32[1,1,3,5]{0,1,2,3} parameter(15)
tok = token[] parameter(16)
ROOT """

REJECTED = [
    "", " ", "HloModule", "HloModule m", "HloModule m,", "HloModule m, foo=1", "HloModule m, is_scheduled=1",
    "HloModule m, is_scheduled=true, is_scheduled=true\nENTRY e { a = f32[] parameter(0) }",
    "HloModule m\nENTRY e {}", "HloModule m\nENTRY e { }", "HloModule m\nENTRY e { a = f32[] parameter(0)",
    "HloModule m\nENTRY e { a = f32[] parameter(0) }\nENTRY f { a = f32[] parameter(0) }",
    "HloModule m\ne { a = f32[] parameter(0) }\ne { a = f32[] parameter(0) }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) a = f32[] negate(a) }",
    "HloModule m\nENTRY e { a = f32[] negate(b) b = f32[] parameter(0) }",
    "HloModule m\nENTRY e { a = f32[] call(), to_apply=missing }",
    "HloModule m\nENTRY e { ROOT a = f32[] parameter(0) ROOT b = f32[] negate(a) }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) b = f32[] parameter(0) }",
    "HloModule m\nENTRY e { a = f32[] parameter(-1) }",
    "HloModule m\nENTRY e { a = f32[] parameter() }",
    "HloModule m\nENTRY e (a: f32[]) -> f32[2] { a = f32[] parameter(0) }",
    "HloModule m\nENTRY e { a = f32[2] parameter(0) ROOT b = f32[2] negate(f32[3] a) }",
    "HloModule m\nENTRY e { %f32 = f32[] parameter(0) }",
    "HloModule m\nENTRY e { __a = f32[] parameter(0) }",
    "HloModule m\nENTRY e { a=f32[] parameter(0) }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) ROOT b = f32[] foo(a) }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) ROOT b = f32[] foo-start(a) }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) ROOT b = f32[] negate-done(a) }",
    "HloModule m\nENTRY e { a = f32[] parameter(0) }, foo=1",
    "HloModule m /* no end",
    "HloModule m\nENTRY e { a = f32[] parameter(0), metadata={op_name=\"x} }",
    "HloModule m\nENTRY e { a = f32[] parameter(0), backend_config={\"a\":1 }",
    "HloModule m, input_output_alias={ {1}: (0, {}) }\nENTRY e { a = f32[] parameter(0) }",
    "HloModule m, buffer_donor={ (-1, {}) }\nENTRY e { a = f32[] parameter(0) }",
    "HloModule m, entry_computation_layout={f32[]->f32[]}\nENTRY e { a = f32[] parameter(0) }",
    "f32[2] negate(f32[2] a) f32[2] negate(f32[2] a)",
    "scaled-dot(f8e4m3fn[4,64] a, f8e4m3fn[64,8] b, f8e8m0fnu[4,2] c, f8e8m0fnu[2,8] d), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "convolution(f32[4,4] a, f32[4,4] b), dim_labels=bf_io->bf, batch_group_count=0", "convolution(f32[4,4] a, f32[4,4] b), dim_labels=bf_io->bf, feature_group_count=-1",
    "f32[2] negate(a)", "f32[2] negate(f32[2] a, f32[2] b)", "f32[2] negate()", "f32[2] negate(f32[2] a", "f32[2] negate f32[2] a",
    "f32[2] negate(f32[2] a), foo=1", "f32[2] negate(f32[2] a), dimensions={0}", "f32[2] negate(f32[2] a),",
    "f32[2] negate(f32[2] a), metadata={foo=1}", "f32[2] negate(f32[2] a), metadata={source_line=1.5}",
    "f32[2] negate(f32[2] a), metadata={source_line=99999999999}", "f32[2] negate(f32[2] a), metadata={op_name=\"a\" op_name=\"b\"}",
    "f32[2] negate(f32[2] a), backend_config=1", "f32[2] negate(f32[2] a), backend_config=\"\\q\"",
    "f32[2] negate(f32[2] a), statistics={a=1}".replace("a=1", "a=\"1\""), "f32[2] negate(f32[2] a), origin={{\"x\"}".replace("}", ""),
    "f32[2] negate(f32[2] a), control-predecessors={b}", "f32[2] negate(f32[2] a), control-predecessors={}",
    "f32[-1] parameter(0)", "f32[2 parameter(0)", "f32[2,] parameter(0)", "f32[<=?] parameter(0)", "f33[2] parameter(0)", "f32 parameter(0)",
    "f32[2]{0,1} parameter(0)", "f32[2]{0:Q(1)} parameter(0)", "f32[2]{0:T(a)} parameter(0)", "f32[2]{0:S(1)T(8)} parameter(0)", "f32[2]{0:S(5)E(8)} parameter(0)", "f32[2]{0:P(f32[2])} parameter(0)",
    "f32[99999999999999999999] parameter(0)", "b(token[]) parameter(0)", "(f32[2] parameter(0)",
    "f32[] constant()", "f32[] constant(true)".replace("true", "\"a\""), "f32[2] constant({1})", "f32[2] constant({1,2,3})", "f32[2,2] constant({{1,2},{3}})", "f32[2,2] constant({{1,2}})",
    "f32[] constant({1})", "f32[2] constant({{1,2}})", "f32[2,2] constant({{1,2},{...}})", "s32[] constant(1.5)", "s8[] constant(128)", "u8[] constant(256)", "u8[] constant(-1)",
    "f8e8m0fnu[] constant(0)", "f8e8m0fnu[] constant(-1)", "f8e8m0fnu[] constant(-0.0)", "s4[] constant(8)", "u4[] constant(16)", "f16[] constant(70000)", "f8e4m3fn[] constant(500)", "f8e5m2[] constant(100000)", "f32[] constant(1e39)", "f64[] constant(1e400)",
    "f8e4m3fn[] constant(nan(0x1))", "f16[] constant(nan(0x400))", "f32[] constant(nan(0x0))", "f32[] constant(nan(1))", "f32[] constant((1,2))", "c64[] constant((1))", "c64[] constant((1,2)", "c64[] constant(1)",
    "(f32[], f32[]) constant((1))", "s64[] constant(18446744073709551616)", "s32[] constant(-9223372036854775809)",
    "f32[4] broadcast(f32[2] a)", "f32[6] concatenate(f32[2] a, f32[4] b), dimensions={0,1}", "f32[4] iota()", "f32[4] iota(), iota_dimension={0}",
    "f32[2] slice(f32[8] a), slice={[0]}", "f32[2] slice(f32[8] a), slice={[0:1:2:3]}", "f32[2] slice(f32[8] a)",
    "f32[6] pad(f32[4] a, f32[] b), padding=1", "f32[6] pad(f32[4] a, f32[] b)",
    "f32[] reduce(f32[4] a), dimensions={0}, " + ADD, "f32[] reduce(f32[4] a, f32[] b), " + ADD, "f32[] reduce(f32[4] a, f32[] b), dimensions={0}",
    "pred[2] compare(f32[2] a, f32[2] b)", "pred[2] compare(f32[2] a, f32[2] b), direction=XX", "pred[2] compare(f32[2] a, f32[2] b), direction=EQ, type=XX",
    "f32[4,4] convolution(f32[4,3] a, f32[3,4] b)", "f32[4,4] convolution(f32[4,3] a, f32[3,4] b), dim_labels=bf_io", "f32[1,4,4] convolution(f32[1,4,4] a, f32[1,4,4] b), dim_labels=bbf_0io->b0f",
    "f32[1,4,4] convolution(f32[1,4,4] a, f32[1,4,4] b), dim_labels=b0f_io->b0f",
    "f32[4] reduce-window(f32[4] a, f32[] b), window={size=1 stride=1x1}, " + ADD, "f32[4] reduce-window(f32[4] a, f32[] b), window={size=1 size=2}, " + ADD, "f32[4] reduce-window(f32[4] a, f32[] b), window={foo=1}, " + ADD,
    "f32[4] reduce-window(f32[4] a, f32[] b), window={size=1 pad=1}, " + ADD, "f32[4] reduce-window(f32[4] a, f32[] b), window={size=1 pad=1_1_1}, " + ADD,
    "f32[4] fusion(f32[4] a), kind=kFoo, calls={ROOT x = f32[4] parameter(0)}", "f32[4] fusion(f32[4] a), kind=kLoop", "f32[4] fusion(f32[4] a), calls={ROOT x = f32[4] parameter(0)}",
    "f32[4] fft(f32[4] a), fft_type=XFT, fft_length={4}", "f32[4] rng(f32[] a, f32[] b), distribution=foo", "f32[4] dot(f32[4] a, f32[4] b), algorithm=foo", "f32[4] dot(f32[4] a, f32[4] b), operand_precision={foo}",
    "f32[4] custom-call(f32[4] a)", "f32[4] custom-call(f32[4] a), custom_call_target=foo", "f32[4] custom-call(f32[4] a), custom_call_target=\"f\", api_version=API_VERSION_UNSPECIFIED",
    "f32[4] custom-call(f32[4] a), custom_call_target=\"f\", operand_layout_constraints={}", "f32[4] custom-call(f32[4] a), custom_call_target=\"f\", operand_layout_constraints={f32[5]{0}}",
    "f32[4] all-reduce(f32[4] a), replica_groups={0}, " + ADD, "f32[4] all-reduce(f32[4] a), replica_groups=[2]<=[2], " + ADD, "f32[4] all-reduce(f32[4] a), use_global_device_ids=true, " + ADD,
    "f32[4] collective-permute(f32[4] a), source_target_pairs={{0}}", "f32[4] collective-permute(f32[4] a)",
    "f32[4] conditional(f32[] p, f32[4] a, f32[4] b), branch_computations={{ROOT x = f32[4] parameter(0)}, {ROOT y = f32[4] parameter(0)}}",
    "f32[4] conditional(s32[] p, f32[4] a), branch_computations={{ROOT x = f32[4] parameter(0)}, {ROOT y = f32[4] parameter(0)}}",
    "f32[4] async-start(f32[4] a), calls={ROOT x = f32[4] parameter(0)}", "f32[4] domain(f32[4] a), domain={kind=\"foo\", entry={replicated}, exit={replicated}}", "f32[4] domain(f32[4] a), domain={kind=\"sharding\"}",
    "(f32[2], s32[2]) topk(f32[4] a)", "f32[4] exponential(f32[4] a), result_accuracy={mode=foo}", "f32[4] exponential(f32[4] a), result_accuracy={foo=1}", "f32[4] negate(f32[4] a), result_accuracy={mode=default}",
    "f32[4] scatter(f32[4] a, s32[] b), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, " + ADD,
    "f32[2] dynamic-slice(f32[8,8] a, s32[] i), dynamic_slice_sizes={2}", "f32[8] dynamic-update-slice(f32[8] a)",
    "a b c", "1", "%", "{", "}", "f32[2] negate(f32[2] a), sharding={foo}", "f32[2] negate(f32[2] a), sharding={devices=[2]0}", "f32[2] negate(f32[2] a), sharding={maximal}", "f32[2] negate(f32[2] a), sharding={replicated device=1}",
    "f32[2] negate(f32[2] a), sharding={devices=[2,2]<=[2,2]}", "f32[2] negate(f32[2] a), sharding={devices=[2,2]<=[4]T(0)}", "f32[2] negate(f32[2] a), sharding={mesh[\"a\"=2], [{\"b\"}]}", "f32[2] negate(f32[2] a), sharding={{}}",
    "f32[2] negate(f32[2] a), sharding={mesh[\"a\"=2], device_ids=([]), [{}]}", "f32[2] negate(f32[2] a), sharding={maximal_mesh[device_id=3], manual={}}",
    "f32[2] negate(f32[2] a), sharding={mesh[\"a\"=2], manual, unreduced={}}", "f32[2] negate(f32[2] a), sharding={mesh[\"a\"=2] device_ids=(1,0), replicated}",
    "(f32[4], f32[]) scan(f32[4] a), dimensions={0}, num_carries=1, to_apply={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = (f32[],f32[]) tuple(x,y) }",
    "f32[2] negate(f32[2] a), sharding={mesh[], device_ids=(0), replicated}", "(f32[2]{0:#(u8)}, s32[]) parameter(0)", "f32[4] concatenate(f32[2] a, f32[2] b), dimensions={0,0}",
    "f32[2] negate(f32[2] a), sharding={mesh[\"a\"=2]}", "f32[2] negate(f32[2] a), sharding={mesh[\"a\"=2],}", "f32[2] negate(f32[2] a), sharding={mesh[]}", "f32[2] negate(f32[2] a), sharding={maximal_mesh[device_id=3], replicated}",
    "HloModule m\nf { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\nENTRY e { a = f32[4] parameter(0) t = token[] after-all() i = s32[] parameter(1) c = (f32[4], f32[4], u32[]) copy-start(a) ROOT r = outfeed(a, t) }",
    "HloModule m\nf { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\nENTRY e { a = f32[4] parameter(0) t = token[] after-all() i = s32[] parameter(1) c = (f32[4], f32[4], u32[]) copy-start(a) ROOT r = send(a, t) }",
    "HloModule m\nf { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\nENTRY e { a = f32[4] parameter(0) t = token[] after-all() i = s32[] parameter(1) c = (f32[4], f32[4], u32[]) copy-start(a) ROOT r = slice(a), slice={[0:2]} }",
    "HloModule m\nf { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\nENTRY e { a = f32[4] parameter(0) t = token[] after-all() i = s32[] parameter(1) c = (f32[4], f32[4], u32[]) copy-start(a) ROOT r = dynamic-slice(a, i), dynamic_slice_sizes={2} }",
    "HloModule m\nf { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\nENTRY e { a = f32[4] parameter(0) t = token[] after-all() i = s32[] parameter(1) c = (f32[4], f32[4], u32[]) copy-start(a) ROOT r = dynamic-update-slice(a, a, i) }",
    "HloModule m\nf { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\nENTRY e { a = f32[4] parameter(0) t = token[] after-all() i = s32[] parameter(1) c = (f32[4], f32[4], u32[]) copy-start(a) ROOT r = reduce-precision(a), exponent_bits=3, mantissa_bits=3 }",
    "HloModule m\nf { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\nENTRY e { a = f32[4] parameter(0) t = token[] after-all() i = s32[] parameter(1) c = (f32[4], f32[4], u32[]) copy-start(a) ROOT r = copy-done(c) }",
    "HloModule m\nf { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\nENTRY e { a = f32[4] parameter(0) t = token[] after-all() i = s32[] parameter(1) c = (f32[4], f32[4], u32[]) copy-start(a) ROOT r = fusion(a), kind=kLoop, calls=f }",
    "f32[4]{0:T(256]} parameter(0)", "f32[4]{0:T(256 4)} parameter(0)", "f32[4]{0:T(x)} parameter(0)", "f32[4]{0:T(256 parameter(0)",
    "HloModule m\nENTRY e { a = f32[4,4] parameter(0) ROOT c = f32[4,4] convolution(a, a), dim_labels=bf_io->bf, sparsity_config={rhs={sparsity=2x4, dimension=0}} }",
    "HloModule m\nENTRY e { a = f32[4,4] parameter(0) ROOT c = f32[4,4] convolution(a, a), dim_labels=bf_io->bf, sparsity_config={rhs={num_non_zero=2}} }",
    "HloModule m\nENTRY e { t = token[] after-all() r = (f32[], u32[], token[]) recv(t), channel_id=15 ROOT d = (f32[], token[]) recv-done(r), channel_id=16 }",
    "HloModule m\nENTRY e { t = token[] after-all() c = f32[] constant(1) s = (f32[], u32[], token[]) send(c, t) ROOT d = token[] send-done(s), channel_id=16 }",
]

# (text, why)
STRICTER = [
    ("f32[2]{0:L(0)} parameter(0)", "ends XLA's process"),
    ("f32[2]{0:L(-1} parameter(0)", "ends XLA's process"),
    ("(token[]{:S(1)}) parameter(0)", "ends XLA's process"),
    ("opaque[]{:T(8)} parameter(0)", "ends XLA's process"),
    ("f32[2] negate(f32[2] a), sharding={devices=[2]1,0 devices=[2]<=[2]}", "ends XLA's process"),
    ("f32[2] negate(f32[2] a), sharding={mesh[\"a\"=2,\"b\"=3], [{}], manual={\"b\",\"a\"}}", "ends XLA's process"),
    ("f32[2] negate(f32[2] a), sharding={mesh[\"a\"=8], [{\"a\":(1)2, \"a\":(2)2}]}", "ends XLA's process"),
    ("f32[2] negate(f32[2] a), sharding={mesh[\"a\"=6], [{\"a\":(1)2}, {\"a\":(3)2}]}", "ends XLA's process"),
    ("f32[4] exponential(f32[4] a), result_accuracy={tolerance={atol=nan}}", "ends XLA's process"),
    ("f32[2] negate(f32[2] a), sharding={devices=[2,3]0,1,2,3}", "XLA fills up with device 0"),
    ("f32[2] negate(f32[2] a), sharding={devices=[2,2]0,1,2,3,4}", "XLA writes behind its array"),
    ("f32[2] negate(f32[2] a), sharding={devices=[3,2]<=[4]}", "the range has another size"),
    ("f32[2] negate(f32[2] a), sharding={devices=[-2,2]0,0,1,1}", "ends XLA's process"),
    ("f32[2] negate(f32[2] a), sharding={devices=[2,2]<=[2,2]T(1,1)}", "no permutation"),
    ("f32[2] negate(f32[2] a), sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate last_tile_dims={manual}}", "ends XLA's process"),
    ("f32[2] negate(f32[2] a), parameter_replication={true}", "ends XLA's process"),
    ("ENTRY e { a = f32[] parameter(1) }", "ends XLA's process"),
    ("f32[1,4,4] convolution(f32[1,4,4] a, f32[1,4,4] b), dim_labels=b1f_1io->b1f", "XLA writes behind its list"),
    ("f32[] constant(true)", "ends XLA's process"),
    ("s32[] partition-id()", "ends XLA's process"),
    ("f32[4]{0:T(0)} parameter(0)", "a tile without elements"),
    ("HloModule m, input_output_alias={ {}: (, {}) }\nENTRY e { a = f32[] parameter(0) }", "XLA takes the number from memory that it did not set"),
    ("HloModule m, buffer_donor={ (, {}) }\nENTRY e { a = f32[] parameter(0) }", "XLA takes the number from memory that it did not set"),
    ("u32[2] replica-id()", "ends XLA's process"),
    ("f32[2] negate(f32[2] a), sharding={devices=[4]<=[16]}", "the range has another size"),
    ("f32[2,2]{1,1} parameter(0)", "no permutation: XLA's verifier rejects it"),
    ("f32[2,2]{1,7} parameter(0)", "no permutation: XLA's verifier rejects it"),
    ("f32[4] conditional(), branch_computations={}", "ends XLA's process"),
    ("(f32[2]) tuple(f32[2] a), origin={,}", "ends XLA's process"),
    ("(f32[2]) tuple(f32[2] a), origin={)}", "ends XLA's process"),
]

# XLA forgets the layouts of parameters and result where the header configures something else.
LAYOUT_HEADERS = [
    "", "replica_count=4", "replica_count=1", "num_partitions=2", "alias_passthrough_params=true",
    "alias_passthrough_params=false", "allow_spmd_sharding_propagation_to_output={true}",
    "allow_spmd_sharding_propagation_to_output={}", "allow_spmd_sharding_propagation_to_parameters=false",
    "is_scheduled=true", "buffer_donor={ (0, {}) }", "frontend_attributes={a=\"1\"}",
    "replica_count=2, entry_computation_layout={(f32[2,3]{0,1}, (s4[8]{0:E(4)}, bf16[4,4]{0,1:T(8,128)S(1)}))->f32[2,3]{0,1}}",
]


def accepted():
    for header in LAYOUT_HEADERS:
        yield ("HloModule m" + (", " if header else "") + header + "\nENTRY e { a = f32[2,3]{0,1} parameter(0) "
               "t = (s4[8]{0:E(4)}, bf16[4,4]{0,1:T(8,128)S(1)}) parameter(1) ROOT b = f32[2,3]{0,1} copy(a) }")
    for shape in SHAPES:
        yield entry("ROOT a = " + shape + " parameter(0)")
    for header in HEADERS:
        yield entry("ROOT a = f32[2] parameter(0)", header)
    for literal in LITERALS:
        yield entry("ROOT a = " + literal)
        yield literal if literal.startswith("f32[] constant(1)") else entry("ROOT a = " + literal)
    yield from LINES
    for sharding in SHARDINGS:
        yield "f32[4,8] negate(f32[4,8] a), sharding=" + sharding
    for sharding in TUPLE_SHARDINGS:
        yield entry("a = f32[4] parameter(0) ROOT t = (f32[4], f32[4]) tuple(a, a), sharding=" + sharding)
    for line in INFERRED:
        yield INFERENCE_HEADER + line + "\n}\n"
    yield from MODULES
