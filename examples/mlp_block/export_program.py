"""Writes the program of this example: the MLP block of a transformer, before optimisation.

    python3 export_program.py > mlp_block.hlo      (needs jax; made with 0.10.2)
"""

import jax
import jax.numpy as jnp


def add_bias(y, bias):
    return y + jax.lax.broadcast_in_dim(bias, y.shape, (1,))


def mlp_block(x, w1, b1, w2, b2):
    return x + add_bias(jax.nn.gelu(add_bias(x @ w1, b1)) @ w2, b2)


def main():
    tokens, width, hidden = 512, 1024, 4096
    bf16 = jnp.bfloat16
    shapes = [((tokens, width), bf16), ((width, hidden), bf16), ((hidden,), bf16),
              ((hidden, width), bf16), ((width,), bf16)]
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    print(jax.jit(mlp_block).lower(*arguments).compiler_ir("hlo").as_hlo_text())


if __name__ == "__main__":
    main()
