"""Writes HLO modules for a broad list of JAX operations, as text before optimisation.

Usage: generate_modules.py OUT_DIR

Each module is one small function traced with `jax.jit` and converted to HLO by jaxlib, so what a
test reads is what users of JAX have. The last line of output lists the opcodes that were covered
and those of XLA's list that no function here emits.
"""

import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

F = jnp.float32
A = jax.ShapeDtypeStruct


def f32(*dims):
    return A(dims, jnp.float32)


def elementwise():
    unary = {
        "abs": jnp.abs, "ceil": jnp.ceil, "floor": jnp.floor, "cos": jnp.cos, "sin": jnp.sin,
        "tan": jnp.tan, "exp": jnp.exp, "expm1": jnp.expm1, "log": jnp.log, "log1p": jnp.log1p,
        "logistic": jax.nn.sigmoid, "neg": jnp.negative, "rsqrt": lax.rsqrt, "sqrt": jnp.sqrt,
        "cbrt": jnp.cbrt, "sign": jnp.sign, "tanh": jnp.tanh, "erf": jax.scipy.special.erf,
        "is_finite": jnp.isfinite, "round_even": jnp.round,
        "round_afz": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
        "acosh": jnp.arccosh, "asin": jnp.arcsin, "sinh": jnp.sinh, "erf_inv": lax.erf_inv,
        "lgamma": lax.lgamma, "digamma": lax.digamma,
        "reduce_precision": lambda x: lax.reduce_precision(x, 5, 10),
        "exp2": jnp.exp2, "integer_pow": lambda x: x**7,
    }
    for name, function in unary.items():
        yield name, function, (f32(4, 130),)
    binary = {
        "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "div": jnp.divide,
        "max": jnp.maximum, "min": jnp.minimum, "pow": jnp.power, "rem": jnp.remainder,
        "atan2": jnp.arctan2, "nextafter": jnp.nextafter, "eq": jnp.equal, "ne": jnp.not_equal,
        "lt": jnp.less, "ge": jnp.greater_equal, "total_order": lax.max,
        "complex": lax.complex,
    }
    for name, function in binary.items():
        yield name, function, (f32(3, 5, 7), f32(3, 5, 7))
    integer = {
        "and": jnp.bitwise_and, "or": jnp.bitwise_or, "xor": jnp.bitwise_xor,
        "shift_left": jnp.left_shift, "shift_right_arithmetic": jnp.right_shift,
        "shift_right_logical": lax.shift_right_logical, "int_div": lax.div, "int_rem": lax.rem,
    }
    for name, function in integer.items():
        yield name, function, (A((9, 9), jnp.int32), A((9, 9), jnp.int32))
    for name, function in {"not": jnp.bitwise_not, "popcnt": lax.population_count,
                           "clz": lax.clz}.items():
        yield name, function, (A((9, 9), jnp.uint8),)
    c64 = A((4, 4), jnp.complex64)
    for name, function in {"real": jnp.real, "imag": jnp.imag, "conj": jnp.conj,
                           "cabs": jnp.abs}.items():
        yield name, function, (c64,)
    yield "where", jnp.where, (A((5,), jnp.bool_), f32(5), f32(5))
    yield "clamp", lambda x: jnp.clip(x, -1.0, 1.0), (f32(8, 8),)


ELEMENT_TYPES = ["bool", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                 "int64", "uint64", "bfloat16", "float16", "float32", "float64", "complex64",
                 "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz",
                 "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3", "float8_e3m4",
                 "float8_e8m0fnu", "float4_e2m1fn", "int2", "uint2"]


def element_types():
    import ml_dtypes
    for name in ELEMENT_TYPES:
        dtype = getattr(ml_dtypes, name, None) or np.dtype(name)

        def convert(x, dtype=dtype):
            return lax.convert_element_type(x, dtype)

        yield f"convert_to_{name}", convert, (f32(2, 3),)

        def constant(dtype=dtype):
            return jnp.asarray(np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype))

        yield f"constant_{name}", constant, ()


def constants():
    specials = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3.4e38, 1 / 3],
                        np.float32)
    yield "constant_special", lambda: jnp.asarray(specials), ()
    yield "constant_special_f64", lambda: jnp.asarray(specials.astype(np.float64)), ()
    yield "constant_special_bf16", lambda: jnp.asarray(specials).astype(jnp.bfloat16), ()
    yield "constant_nd", lambda: jnp.asarray(np.arange(24).reshape(2, 3, 4)), ()
    yield "constant_empty", lambda: jnp.asarray(np.zeros((2, 0, 3), np.float32)), ()
    yield "constant_complex", lambda: jnp.asarray(np.array([1 + 2j, -0.5j], np.complex64)), ()
    yield "constant_large", lambda: jnp.asarray(np.arange(512, dtype=np.float32) / 7), ()


def shapes():
    yield "broadcast", lambda x: jnp.broadcast_to(x[:, None], (4, 7)), (f32(4),)
    yield "reshape", lambda x: x.reshape(6, 4), (f32(2, 3, 4),)
    yield "transpose", lambda x: x.transpose(2, 0, 1), (f32(2, 3, 4),)
    yield "reverse", lambda x: x[::-1], (f32(5, 2),)
    yield "concatenate", lambda x, y: jnp.concatenate([x, y], 1), (f32(2, 3), f32(2, 5))
    yield "pad", lambda x: lax.pad(x, jnp.float32(0), [(1, 2, 0), (-1, 0, 1)]), (f32(4, 5),)
    yield "slice", lambda x: x[1:9:3, 2:4], (f32(10, 5),)
    yield "dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, i), (3, 2)), (
        f32(10, 5), A((), jnp.int32))
    yield "dynamic_update_slice", lambda x, u, i: lax.dynamic_update_slice(x, u, (i, i)), (
        f32(10, 5), f32(2, 2), A((), jnp.int32))
    yield "gather", lambda x, i: x[i], (f32(10, 5), A((7,), jnp.int32))
    yield "gather_clip", lambda x, i: jnp.take(x, i, axis=1, mode="clip"), (
        f32(10, 5), A((2, 3), jnp.int32))
    yield "scatter_add", lambda x, i, u: x.at[i].add(u), (
        f32(10, 5), A((7,), jnp.int32), f32(7, 5))
    yield "scatter_set", lambda x, i, u: x.at[i].set(u, unique_indices=True), (
        f32(10), A((3,), jnp.int32), f32(3))
    yield "iota", lambda: lax.broadcasted_iota(jnp.int32, (3, 4), 1), ()
    yield "bitcast_convert", lambda x: lax.bitcast_convert_type(x, jnp.uint32), (f32(4),)
    yield "bitcast_narrow", lambda x: lax.bitcast_convert_type(x, jnp.uint8), (f32(4),)
    yield "squeeze", lambda x: x.squeeze(), (f32(1, 4, 1),)


def reductions():
    for name, function in {"sum": jnp.sum, "prod": jnp.prod, "max": jnp.max,
                           "argmax": jnp.argmax, "any": jnp.any, "mean": jnp.mean}.items():
        yield f"reduce_{name}", lambda x, f=function: f(x, axis=0), (f32(6, 130),)
    yield "reduce_variadic", lambda x, y: lax.reduce(
        (x, y), (jnp.float32(0), jnp.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)), (f32(4, 5), f32(4, 5))
    yield "reduce_window_max", lambda x: lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), (f32(2, 9, 9, 4),)
    yield "reduce_window_dilated", lambda x: lax.reduce_window(
        x, 0.0, lax.add, (2, 2), (1, 1), ((1, 0), (0, 1)), (2, 1), (1, 2)), (f32(8, 8),)
    yield "select_and_scatter", jax.grad(lambda x: lax.reduce_window(
        x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID").sum()), (f32(8, 8),)
    yield "cumsum", lambda x: jnp.cumsum(x, 1), (f32(3, 50),)
    yield "sort", lambda x: jnp.sort(x, axis=0), (f32(30, 3),)
    yield "sort_pairs", lambda x, y: lax.sort((x, y), num_keys=1), (f32(9), A((9,), jnp.int32))
    yield "top_k", lambda x: lax.top_k(x, 3), (f32(4, 50),)
    yield "approx_max_k", lambda x: lax.approx_max_k(x, 3), (f32(4, 500),)


def contractions():
    yield "dot", jnp.dot, (f32(8, 16), f32(16, 4))
    yield "dot_batch", lambda x, y: jnp.einsum("bij,bkj->bik", x, y), (f32(2, 3, 4), f32(2, 5, 4))
    yield "dot_precision", lambda x, y: jnp.dot(x, y, precision="highest"), (f32(4, 4), f32(4, 4))
    yield "dot_bf16_f32", lambda x, y: jnp.dot(x, y, preferred_element_type=F), (
        A((4, 8), jnp.bfloat16), A((8, 4), jnp.bfloat16))
    yield "dot_int8", lambda x, y: jnp.dot(x, y, preferred_element_type=jnp.int32), (
        A((4, 8), jnp.int8), A((8, 4), jnp.int8))
    yield "dot_algorithm", lambda x, y: lax.dot(
        x, y, precision=lax.DotAlgorithmPreset.BF16_BF16_F32), (f32(4, 4), f32(4, 4))
    yield "ragged_dot", lax.ragged_dot, (f32(12, 4), f32(3, 4, 5), A((3,), jnp.int32))

    def conv(**options):
        return lambda x, w: lax.conv_general_dilated(
            x, w, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)

    image, weights = f32(2, 9, 11, 8), f32(3, 3, 8, 16)
    yield "conv_same", conv(window_strides=(1, 1), padding="SAME"), (image, weights)
    yield "conv_stride", conv(window_strides=(2, 3), padding="VALID"), (image, weights)
    yield "conv_dilated", conv(window_strides=(1, 1), padding=((2, 1), (0, 3)),
                               lhs_dilation=(2, 1), rhs_dilation=(1, 2)), (image, weights)
    yield "conv_groups", conv(window_strides=(1, 1), padding="SAME", feature_group_count=4), (
        image, f32(3, 3, 2, 16))
    yield "conv_batch_groups", conv(window_strides=(1, 1), padding="SAME", batch_group_count=2), (
        image, f32(3, 3, 8, 16))
    yield "conv_grad", jax.grad(lambda x, w: conv(
        window_strides=(2, 2), padding="SAME")(x, w).sum(), (0, 1)), (image, weights)
    yield "conv_1d", lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME"), (
        f32(2, 3, 20), f32(5, 3, 4))


def control_flow():
    yield "while", lambda x: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * 2.0),
                                            (0, x)), (f32(4),)
    yield "fori", lambda x: lax.fori_loop(0, 7, lambda i, c: c + i, x), (f32(4),)
    yield "scan", lambda x: lax.scan(lambda c, e: (c + e, c * e), 0.0, x), (f32(9),)
    yield "cond", lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), (A((), jnp.bool_), f32(4))
    yield "switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x), (
        A((), jnp.int32), f32(4))
    yield "call", jax.jit(lambda x: jax.jit(jnp.sin, inline=False)(x) + 1), (f32(4),)
    yield "custom_jvp", lambda x: jax.nn.relu(x) + jax.nn.gelu(x), (f32(4),)
    yield "opt_barrier", lambda x: lax.optimization_barrier((x, x + 1)), (f32(4),)
    yield "remat_grad", jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), (f32(4),)
    yield "tuple_output", lambda x: {"a": x, "b": (x + 1, [x * 2])}, (f32(2),)
    yield "no_output", lambda x: (), (f32(2),)


def randomness():
    key = A((2,), jnp.uint32)
    yield "threefry", lambda k: jax.random.normal(k, (5, 5)), (key,)
    yield "bernoulli", lambda k: jax.random.bernoulli(k, 0.3, (50,)), (key,)
    yield "rng_bit_generator", lambda k: lax.rng_bit_generator(k, (4,)), (A((4,), jnp.uint32),)
    yield "rng_uniform", lambda a, b: lax.rng_uniform(a, b, (3, 3)), (f32(), f32())


def linear_algebra():
    yield "fft", jnp.fft.fft, (A((4, 16), jnp.complex64),)
    yield "rfft2", jnp.fft.rfft2, (f32(8, 8),)
    yield "irfft", jnp.fft.irfft, (A((9,), jnp.complex64),)
    yield "cholesky", jnp.linalg.cholesky, (f32(4, 4),)
    yield "triangular_solve", lambda a, b: jax.scipy.linalg.solve_triangular(a, b), (
        f32(4, 4), f32(4, 2))
    yield "qr", jnp.linalg.qr, (f32(5, 3),)
    yield "svd", jnp.linalg.svd, (f32(5, 3),)
    yield "eigh", jnp.linalg.eigh, (f32(4, 4),)


def collectives():
    """Runs over the CPU client's devices; needs --xla_force_host_platform_device_count=4."""
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    spec = PartitionSpec("x", "y")

    def mapped(body, out=spec):
        return jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=out, check_vma=False)

    array = (f32(8, 8),)
    yield "all_reduce", mapped(lambda x: lax.psum(x, "x")), array
    yield "all_gather", mapped(lambda x: lax.all_gather(x, "y", tiled=True)), array
    yield "reduce_scatter", mapped(lambda x: lax.psum_scatter(x, "x", tiled=True)), array
    yield "all_to_all", mapped(lambda x: lax.all_to_all(x, "y", 0, 1, tiled=True)), array
    yield "collective_permute", mapped(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)])), array
    yield "partition_id", mapped(lambda x: x + lax.axis_index("x")), array
    yield "sharding_constraint", lambda x: lax.with_sharding_constraint(
        x * 2, NamedSharding(mesh, spec)), array
    yield "sharding_replicated", lambda x: lax.with_sharding_constraint(
        x * 2, NamedSharding(mesh, PartitionSpec(None, "y"))), array


GROUPS = [elementwise, element_types, constants, shapes, reductions, contractions, control_flow,
          randomness, linear_algebra, collectives]


def lowered_text(function, arguments):
    lowered = jax.jit(function).lower(*arguments)
    return lowered.compiler_ir("hlo").as_hlo_module().to_string()


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    opcodes, failures = set(), []
    for group in GROUPS:
        for name, function, arguments in group():
            try:
                text = lowered_text(function, arguments)
            except Exception as error:  # A type that this JAX cannot lower is reported, not hidden.
                failures.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
                continue
            (out / f"{name}.hlo").write_text(text)
            opcodes.update(re.findall(r"^\s.* ([a-z][a-z0-9-]*)\(", text, re.MULTILINE))
    for failure in failures:
        print("not lowered:", failure)
    print(f"{len(list(out.glob('*.hlo')))} modules; opcodes:", " ".join(sorted(opcodes)))


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_num_cpu_devices", 4)
    main()
