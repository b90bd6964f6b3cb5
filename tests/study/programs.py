"""Writes real machine-learning programs as HLO before optimisation, lowered for TPU.

  python programs.py OUT [NAME...]

Each program goes to OUT/NAME.before.hlo as soon as it is ready. Layer counts are cut; widths,
batches and image sizes are realistic. Parameters are arguments of the program; no weights are made
or fetched. Versions: programs_requirements.txt. "Own" means written here, under this repository's
licence.
"""

import argparse
import functools
import os
import pathlib
import sys
import time
import traceback

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

os.environ.setdefault("KERAS_BACKEND", "jax")

F32, BF16, I8, I32 = jnp.float32, jnp.bfloat16, jnp.int8, jnp.int32
KEY = jax.eval_shape(lambda: jax.random.PRNGKey(0))


# A program is (function, arguments), the arguments being shapes.


def shape(*dims, dtype=F32):
    return jax.ShapeDtypeStruct(dims, dtype)


def ids(*dims):
    return shape(*dims, dtype=I32)


def half(tree):
    """The same shapes with bfloat16 for float32."""
    return jax.tree.map(lambda x: shape(*x.shape, dtype=BF16 if x.dtype == F32 else x.dtype), tree)


def infer(module, *inputs):
    """The forward pass of a Flax module."""
    return module.apply, (jax.eval_shape(module.init, KEY, *inputs), *inputs)


def train(loss, params, optimizer, *batch):
    """A step of the optimizer on loss(params, *batch)."""

    def step(params, state, *batch):
        value, gradients = jax.value_and_grad(loss)(params, *batch)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    return step, (params, jax.eval_shape(optimizer.init, params), *batch)


def cross_entropy(logits, labels):
    logits = logits.astype(F32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train_classifier(module, optimizer, inputs, labels):
    """A training step of a Flax module that returns logits."""

    def loss(params, inputs, labels):
        return cross_entropy(module.apply(params, inputs), labels)

    return train(loss, jax.eval_shape(module.init, KEY, inputs), optimizer, inputs, labels)


# Own: graph and embedding


def perceptron(x, widths, last=None):
    for width in widths[:-1]:
        x = nn.relu(nn.Dense(width)(x))
    x = nn.Dense(widths[-1])(x)
    return last(x) if last else x


class Dlrm(nn.Module):
    rows: tuple
    width: int = 64

    @nn.compact
    def __call__(self, dense, sparse):
        features = [perceptron(dense, (512, 256, self.width), nn.relu)]
        for table, rows in enumerate(self.rows):
            features.append(nn.Embed(rows, self.width)(sparse[:, table]).sum(axis=1))
        stacked = jnp.stack(features, axis=1)
        products = jnp.einsum("bif,bjf->bij", stacked, stacked)
        first, second = np.triu_indices(len(features), 1)
        pairs = products[:, first, second]
        return perceptron(jnp.concatenate([features[0], pairs], axis=1), (512, 256, 1), nn.sigmoid)


def dlrm():
    """Own: DLRM, bags of embeddings, pairwise interaction, two perceptrons."""
    rows = (1000, 10000, 50000, 100000, 200000, 500000)
    return infer(Dlrm(rows), shape(2048, 13), ids(2048, len(rows), 4))


def dlrm_train():
    """Own: a training step of DLRM with Adagrad, whose gradients scatter into the tables."""
    model = Dlrm((1000, 5000, 20000), width=32)

    def loss(params, dense, sparse, clicks):
        predicted = model.apply(params, dense, sparse)[:, 0]
        return -(clicks * jnp.log(predicted + 1e-6) + (1 - clicks) * jnp.log1p(-predicted)).mean()

    batch = shape(512, 13), ids(512, 3, 2), shape(512)
    params = jax.eval_shape(model.init, KEY, *batch[:2])
    return train(loss, params, optax.adagrad(0.01), *batch)


class DeepCross(nn.Module):
    @nn.compact
    def __call__(self, features):
        embedded = nn.Embed(200000, 48)(features).reshape(features.shape[0], -1)
        crossed = embedded
        for _ in range(3):
            crossed = embedded * nn.Dense(embedded.shape[1])(nn.Dense(256)(crossed)) + crossed
        deep = perceptron(embedded, (1024, 768, 384), nn.relu)
        return nn.Dense(1)(jnp.concatenate([crossed, deep], axis=1))


def deep_cross():
    """Own: DCN-v2, low-rank cross layers beside a deep tower."""
    return infer(DeepCross(), ids(4096, 26))


class TwoTower(nn.Module):
    @nn.compact
    def __call__(self, user, history, item):
        items = nn.Embed(100000, 128)
        viewed = items(history)
        weight = nn.softmax(nn.Dense(1)(nn.tanh(nn.Dense(64)(viewed))), axis=1)
        user = jnp.concatenate([nn.Embed(50000, 64)(user), (weight * viewed).sum(axis=1)], axis=1)
        user = nn.LayerNorm()(perceptron(user, (768, 256)))
        item = nn.LayerNorm()(perceptron(items(item), (512, 256)))
        return nn.log_softmax(user @ item.T / 16)


def two_tower():
    """Own: retrieval by two towers with attention over a history and in-batch softmax."""
    return infer(TwoTower(), ids(1024), ids(1024, 50), ids(1024))


# Own: recurrent and scan


class WaveNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(128, (2,), padding="CAUSAL")(x)
        skips = 0
        for layer in range(8):
            gate = nn.Conv(256, (2,), padding="CAUSAL", kernel_dilation=(2**layer,))(x)
            gate = nn.tanh(gate[..., :128]) * nn.sigmoid(gate[..., 128:])
            skips += nn.Conv(256, (1,))(gate)
            x += nn.Conv(128, (1,))(gate)
        return nn.Conv(256, (1,))(nn.relu(nn.Conv(512, (1,))(nn.relu(skips))))


def wavenet():
    """Own: WaveNet, gated dilated causal 1-D convolutions."""
    return infer(WaveNet(), shape(4, 8000, 1))


class Mamba(nn.Module):
    width: int = 768
    state: int = 16

    @nn.compact
    def __call__(self, x):
        inner = 2 * self.width
        h, gate = jnp.split(nn.Dense(2 * inner)(nn.RMSNorm()(x)), 2, axis=-1)
        h = nn.silu(nn.Conv(inner, (4,), padding="CAUSAL", feature_group_count=inner)(h))
        step = nn.softplus(nn.Dense(inner)(nn.Dense(48)(h)))
        into, out = nn.Dense(self.state)(h), nn.Dense(self.state)(h)
        decay = self.param("decay", nn.initializers.ones, (inner, self.state))
        decays = jnp.exp(-step[..., None] * decay)
        inputs = (step * h)[..., None] * into[:, :, None]

        def combine(left, right):
            return left[0] * right[0], left[1] * right[0] + right[1]

        _, states = jax.lax.associative_scan(combine, (decays, inputs), axis=1)
        h = jnp.einsum("blds,bls->bld", states, out) * nn.silu(gate)
        return x + nn.Dense(self.width)(h)


def mamba():
    """Own: a Mamba layer, selective state space by an associative scan."""
    return infer(Mamba(), shape(2, 256, 768))


class TokenShift(nn.Module):
    @nn.compact
    def __call__(self, x):
        mix = self.param("mix", nn.initializers.ones, (x.shape[-1],))
        return x * mix + jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1] * (1 - mix)


class Rwkv(nn.Module):
    width: int = 1024

    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x += self.time_mix(nn.LayerNorm()(x))
            x += self.channel_mix(nn.LayerNorm()(x))
        return x

    def time_mix(self, x):
        x = TokenShift()(x)
        key, value, gate = (nn.Dense(self.width, use_bias=False)(x) for _ in range(3))
        decay = jnp.exp(-nn.softplus(nn.Dense(self.width)(x[:, :1]))[:, 0])

        def step(state, inputs):
            above, below = state
            key, value = inputs
            weight = jnp.exp(jnp.minimum(key, 10))
            out = (above + weight * value) / (below + weight + 1e-6)
            return (above * decay + weight * value, below * decay + weight), out

        start = jnp.zeros_like(decay), jnp.zeros_like(decay)
        _, out = jax.lax.scan(step, start, (key.swapaxes(0, 1), value.swapaxes(0, 1)))
        return nn.Dense(self.width)(nn.sigmoid(gate) * out.swapaxes(0, 1))

    def channel_mix(self, x):
        x = TokenShift()(x)
        gate = nn.sigmoid(nn.Dense(self.width)(x))
        return gate * nn.Dense(self.width)(jnp.square(nn.relu(nn.Dense(4 * self.width)(x))))


def rwkv():
    """Own: two RWKV blocks, linear attention as a scan over time."""
    return infer(Rwkv(), shape(8, 256, 1024))


class Seq2Seq(nn.Module):
    @nn.compact
    def __call__(self, source, target):
        x = nn.Embed(16000, 256)(source)
        forward = nn.RNN(nn.GRUCell(384))(x)
        backward = nn.RNN(nn.GRUCell(384), reverse=True, keep_order=True)(x)
        memory = jnp.concatenate([forward, backward], axis=-1)
        h = nn.RNN(nn.GRUCell(512))(nn.Embed(16000, 256)(target))
        scores = jnp.einsum("btd,bsd->bts", nn.Dense(768)(h), memory)
        context = jnp.einsum("bts,bsd->btd", nn.softmax(scores), memory)
        return nn.Dense(16000)(nn.tanh(nn.Dense(512)(jnp.concatenate([h, context], axis=-1))))


def gru_seq2seq():
    """Own, of Flax cells (Apache-2.0): a bidirectional GRU encoder, GRU decoder with attention."""
    return infer(Seq2Seq(), ids(32, 40), ids(32, 32))


# Own: Fourier


class StateSpaceConvolution(nn.Module):
    states: int = 32

    @nn.compact
    def __call__(self, x):
        length, width = x.shape[1:]
        real, imaginary, weight = (
            self.param(name, nn.initializers.ones, (width, self.states))
            for name in ("real", "imaginary", "weight"))
        time = jnp.arange(length, dtype=F32)
        phase = imaginary[..., None] * time
        kernel = (weight[..., None] * jnp.exp(-real[..., None] * time) * jnp.cos(phase)).sum(axis=1)
        transformed = jnp.fft.rfft(x, 2 * length, axis=1)
        transformed *= jnp.fft.rfft(kernel, 2 * length, axis=1).T
        y = jnp.fft.irfft(transformed, 2 * length, axis=1)[:, :length]
        return y + x * self.param("skip", nn.initializers.ones, (width,))


class S4(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(256)(x)
        for _ in range(2):
            h = nn.gelu(StateSpaceConvolution()(nn.LayerNorm()(x)))
            x += nn.glu(nn.Dense(512)(h))
        return nn.Dense(10)(x.mean(axis=1))


def s4_fft():
    """Own: S4D, state spaces as long convolutions by FFT."""
    return infer(S4(), shape(16, 1024, 3))


class GlobalFilter(nn.Module):
    width: int = 384

    @nn.compact
    def __call__(self, images):
        x = nn.Conv(self.width, (16, 16), (16, 16))(images)
        side = x.shape[1]
        for layer in range(3):
            filters = self.param(f"filter_{layer}", nn.initializers.ones,
                                 (2, side, side // 2 + 1, self.width))
            spectrum = jnp.fft.rfft2(nn.LayerNorm()(x), axes=(1, 2), norm="ortho")
            spectrum *= jax.lax.complex(filters[0], filters[1])
            h = jnp.fft.irfft2(spectrum, (side, side), axes=(1, 2), norm="ortho")
            h = nn.Dense(4 * self.width)(nn.LayerNorm()(h))
            x += nn.Dense(self.width)(nn.gelu(h))
        return nn.Dense(1000)(x.mean(axis=(1, 2)))


def gfnet():
    """Own: GFNet, image patches mixed by learned filters in the frequency domain."""
    return infer(GlobalFilter(), shape(16, 224, 224, 3))


class Keyword(nn.Module):
    @nn.compact
    def __call__(self, audio):
        frames = (audio.shape[1] - 512) // 160 + 1
        windows = audio[:, 160 * jnp.arange(frames)[:, None] + jnp.arange(512)]
        hann = 0.5 - 0.5 * jnp.cos(2 * np.pi / 512 * jnp.arange(512))
        power = jnp.square(jnp.abs(jnp.fft.rfft(windows * hann)))
        bands = self.param("bands", nn.initializers.ones, (257, 80))
        x = jnp.log(power @ jnp.abs(bands) + 1e-6)[..., None]
        for width in (64, 128, 256):
            x = nn.relu(nn.GroupNorm(16)(nn.Conv(width, (3, 3), (2, 2))(x)))
            x += nn.relu(nn.Conv(width, (3, 3), feature_group_count=width)(x))
        return nn.Dense(35)(x.mean(axis=(1, 2)))


def spectrogram_net():
    """Own: audio classification, spectrograms by FFT and a small convolutional net."""
    return infer(Keyword(), shape(32, 16000))


class Hyena(nn.Module):
    width: int = 512

    @nn.compact
    def __call__(self, x):
        length = x.shape[1]
        h = nn.Dense(3 * self.width)(nn.LayerNorm()(x))
        h = nn.Conv(3 * self.width, (3,), padding="CAUSAL", feature_group_count=3 * self.width)(h)
        value, *gates = jnp.split(h, 3, axis=-1)
        time = jnp.linspace(0, 1, length)[:, None]
        position = jnp.concatenate([jnp.sin(time * 2.0**k) for k in range(8)], axis=1)
        for gate in gates:
            kernel = nn.Dense(self.width)(jnp.sin(nn.Dense(64)(position))) * jnp.exp(-4 * time)
            spectrum = jnp.fft.rfft(kernel, 2 * length, axis=0)
            spectrum *= jnp.fft.rfft(value, 2 * length, axis=1)
            value = gate * jnp.fft.irfft(spectrum, 2 * length, axis=1)[:, :length]
        return x + nn.Dense(self.width)(value)


def hyena():
    """Own: a Hyena operator of order two, implicit long convolutions with gates."""
    return infer(Hyena(), shape(4, 2048, 512))


# Own: experts and perceptrons


class Nerf(nn.Module):
    width: int = 256

    @nn.compact
    def __call__(self, points, directions, distances):
        position, direction = self.encode(points, 10), self.encode(directions, 4)
        x = position
        for layer in range(6):
            x = nn.relu(nn.Dense(self.width)(x))
            if layer == 3:
                x = jnp.concatenate([x, position], axis=-1)
        density = nn.softplus(nn.Dense(1)(x))[..., 0]
        direction = jnp.broadcast_to(direction[:, None], x.shape[:2] + direction.shape[-1:])
        x = jnp.concatenate([nn.Dense(self.width)(x), direction], axis=-1)
        colour = nn.sigmoid(nn.Dense(3)(nn.relu(nn.Dense(self.width // 2)(x))))
        opacity = 1 - jnp.exp(-density * distances)
        through = jnp.cumprod(1 - opacity + 1e-10, axis=-1)
        return ((opacity * through)[..., None] * colour).sum(axis=1)

    def encode(self, x, levels):
        scaled = x[..., None, :] * 2.0 ** jnp.arange(levels)[:, None]
        scaled = scaled.reshape(*x.shape[:-1], -1)
        return jnp.concatenate([x, jnp.sin(scaled), jnp.cos(scaled)], axis=-1)


def nerf():
    """Own: NeRF, encoded positions through a perceptron and volume rendering."""
    return infer(Nerf(), shape(1024, 64, 3), shape(1024, 3), shape(1024, 64))


def nerf_train():
    """Own: a training step of a narrow NeRF with Adam."""
    model = Nerf(width=128)

    def loss(params, *batch):
        return jnp.square(model.apply(params, *batch[:3]) - batch[3]).mean()

    batch = shape(512, 64, 3), shape(512, 3), shape(512, 64), shape(512, 3)
    return train(loss, jax.eval_shape(model.init, KEY, *batch[:3]), optax.adam(5e-4), *batch)


class GatedPerceptron(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(30000, 512, dtype=BF16)(tokens)
        for _ in range(3):
            h = nn.gelu(nn.Dense(3072, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x)))
            h, gate = jnp.split(h, 2, axis=-1)
            gate = nn.LayerNorm(dtype=BF16)(gate).swapaxes(1, 2)
            h *= nn.Dense(tokens.shape[1], dtype=BF16)(gate).swapaxes(1, 2)
            x += nn.Dense(512, dtype=BF16)(h)
        return nn.Dense(30000, dtype=BF16)(x[:, -1])


def gmlp():
    """Own: gMLP, perceptrons with spatial gating, in bfloat16."""
    return infer(GatedPerceptron(), ids(16, 256))


class SoftExperts(nn.Module):
    experts: int = 16
    slots: int = 32

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        for layer in range(2):
            h = nn.LayerNorm()(x)
            logits = nn.Dense(self.experts * self.slots)(h)
            slots = jnp.einsum("bts,btd->bsd", nn.softmax(logits, axis=1), h)
            slots = slots.reshape(-1, self.experts, self.slots, width)
            into = self.param(f"into_{layer}", nn.initializers.ones, (self.experts, width, 2048))
            out = self.param(f"out_{layer}", nn.initializers.ones, (self.experts, 2048, width))
            slots = nn.gelu(jnp.einsum("besd,edf->besf", slots, into))
            slots = jnp.einsum("besf,efd->besd", slots, out)
            slots = slots.reshape(-1, self.experts * self.slots, width)
            x += jnp.einsum("bts,bsd->btd", nn.softmax(logits, axis=2), slots)
        return x


def soft_moe():
    """Own: Soft MoE, tokens mixed into slots of experts."""
    return infer(SoftExperts(), shape(8, 256, 512))


class SwitchLayer(nn.Module):
    experts: int = 8

    @nn.compact
    def __call__(self, x):
        tokens, width = x.shape
        capacity = 2 * tokens // self.experts
        odds = nn.softmax(nn.Dense(self.experts)(x))
        expert = jnp.argmax(odds, axis=1)
        order = jnp.argsort(expert)
        place = jnp.arange(tokens) - jnp.searchsorted(expert[order], expert[order])
        slots = jnp.zeros((self.experts, capacity, width), x.dtype)
        slots = slots.at[expert[order], place].set(x[order], mode="drop")
        into = self.param("into", nn.initializers.ones, (self.experts, width, 3072), BF16)
        out = self.param("out", nn.initializers.ones, (self.experts, 3072, width), BF16)
        slots = jnp.einsum("ecd,edf->ecf", slots, into)
        slots = jnp.einsum("ecf,efd->ecd", nn.relu(slots), out)
        back = slots.at[expert[order], place].get(mode="fill", fill_value=0)
        gate = jnp.take_along_axis(odds, expert[:, None], axis=1)
        return x + (gate * back[jnp.argsort(order)]).astype(x.dtype)


def switch_sorted():
    """Own: a Switch layer whose tokens are sorted, scattered to experts and gathered back."""
    return infer(SwitchLayer(), shape(4096, 768, dtype=BF16))


class MultiGate(nn.Module):
    @nn.compact
    def __call__(self, features):
        experts = jnp.stack([perceptron(features, (512, 256), nn.relu) for _ in range(6)], axis=1)
        results = []
        for _ in range(3):
            gate = nn.softmax(nn.Dense(6)(features))
            results.append(perceptron(jnp.einsum("be,bed->bd", gate, experts), (128, 1)))
        return results


def mmoe():
    """Own: MMoE, experts shared by three tasks, each with its own gate."""
    return infer(MultiGate(), shape(8192, 512))


# Own: convolutional


class Edsr(nn.Module):
    @nn.compact
    def __call__(self, images):
        first = x = nn.Conv(64, (3, 3))(images)
        for _ in range(4):
            x += 0.1 * nn.Conv(64, (3, 3))(nn.relu(nn.Conv(64, (3, 3))(x)))
        x = nn.Conv(256, (3, 3))(first + x)
        batch, height, width, _ = x.shape
        x = x.reshape(batch, height, width, 2, 2, 64).transpose(0, 1, 3, 2, 4, 5)
        return nn.Conv(3, (3, 3))(x.reshape(batch, 2 * height, 2 * width, 64))


def edsr():
    """Own: EDSR super-resolution, residual blocks and a pixel shuffle."""
    return infer(Edsr(), shape(8, 96, 96, 3))


class Video(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width, stride in ((64, 1), (128, 2), (256, 2)):
            h = nn.Conv(width, (1, 3, 3), (1, 2, 2), dtype=BF16)(x)
            h = nn.Conv(width, (3, 1, 1), (stride, 1, 1), dtype=BF16)(nn.relu(h))
            x = nn.relu(nn.Conv(width, (3, 3, 3), dtype=BF16)(nn.relu(h)) + h)
        return nn.Dense(400)(nn.max_pool(x, (2, 2, 2), (2, 2, 2)).mean(axis=(1, 2, 3)))


def video_r2plus1d():
    """Own: a video classifier of 3-D and (2+1)-D convolutions, in bfloat16."""
    return infer(Video(), shape(4, 16, 112, 112, 3, dtype=BF16))


class Shuffle(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(24, (3, 3), (2, 2))(x))
        x = nn.max_pool(x, (3, 3), (2, 2), "SAME")
        for width in (240, 480, 960):
            pooled = nn.avg_pool(x, (3, 3), (2, 2), "SAME")
            h = self.unit(x, width - x.shape[-1], 2)
            x = nn.relu(jnp.concatenate([pooled, h], axis=-1))
            x = nn.relu(x + self.unit(x, width, 1))
        return nn.Dense(1000)(x.mean(axis=(1, 2)))

    def unit(self, x, width, stride):
        groups = 3
        x = nn.relu(nn.Conv(240, (1, 1), feature_group_count=groups)(x))
        x = x.reshape(*x.shape[:3], groups, 80).swapaxes(3, 4).reshape(*x.shape[:3], 240)
        x = nn.Conv(240, (3, 3), (stride, stride), feature_group_count=240)(x)
        return nn.Conv(width, (1, 1), feature_group_count=groups)(x)


def shufflenet():
    """Own: ShuffleNet, grouped and depthwise convolutions with channel shuffles."""
    return infer(Shuffle(), shape(32, 224, 224, 3))


class Segmenter(nn.Module):
    @nn.compact
    def __call__(self, images):
        x, low = images, None
        for width in (64, 128, 256):
            x = nn.relu(nn.GroupNorm()(nn.Conv(width, (3, 3), (2, 2))(x)))
            low = x if width == 128 else low
        branches = [nn.Conv(128, (1, 1))(x)]
        for rate in (3, 6, 12):
            branches.append(nn.relu(nn.Conv(128, (3, 3), kernel_dilation=(rate, rate))(x)))
        pooled = nn.Conv(128, (1, 1))(x.mean(axis=(1, 2), keepdims=True))
        branches.append(jnp.broadcast_to(pooled, branches[0].shape))
        x = nn.relu(nn.Conv(256, (1, 1))(jnp.concatenate(branches, axis=-1)))
        x = jax.image.resize(x, low.shape[:3] + (256,), "bilinear")
        x = nn.Conv(256, (3, 3))(jnp.concatenate([x, nn.Conv(48, (1, 1))(low)], axis=-1))
        x = nn.Conv(21, (1, 1))(nn.relu(x))
        return jax.image.resize(x, images.shape[:3] + (21,), "bilinear")


def deeplab():
    """Own: DeepLab-v3+, dilated convolutions in parallel and bilinear resizing."""
    return infer(Segmenter(), shape(4, 256, 256, 3))


def int8_convnet():
    """Own: a residual net with int8 convolutions, int32 sums and requantisation."""
    widths = (32, 64, 128, 256)

    def quantise(x, scale):
        return jnp.clip(jnp.round(x.astype(F32) * scale), -127, 127).astype(I8)

    def convolve(x, kernel, stride):
        return jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
            preferred_element_type=I32)

    def forward(layers, dense, x):
        for kernels, scales in layers:
            x = quantise(nn.relu(convolve(x, kernels[0], 2)), scales[0])
            h = quantise(nn.relu(convolve(x, kernels[1], 1)), scales[1])
            x = quantise(convolve(h, kernels[2], 1) + x.astype(I32), scales[2])
        return x.astype(F32).mean(axis=(1, 2)) @ dense

    layers = []
    for before, width in zip((16,) + widths, widths):
        kernels = [shape(3, 3, before, width, dtype=I8)] + 2 * [shape(3, 3, width, width, dtype=I8)]
        layers.append((kernels, 3 * [shape(width)]))
    return forward, (layers, shape(widths[-1], 1000), shape(32, 128, 128, 16, dtype=I8))


# Own: attention


class Swin(nn.Module):
    window: int = 7

    @nn.compact
    def __call__(self, images):
        x = nn.LayerNorm()(nn.Conv(96, (4, 4), (4, 4))(images))
        for stage in range(2):
            x = self.block(self.block(x, 0), self.window // 2)
            if stage == 0:
                batch, height, width, channels = x.shape
                x = x.reshape(batch, height // 2, 2, width // 2, 2, channels)
                x = x.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height // 2, width // 2, -1)
                x = nn.Dense(2 * channels)(nn.LayerNorm()(x))
        return nn.Dense(1000)(nn.LayerNorm()(x).mean(axis=(1, 2)))

    def block(self, x, shift):
        batch, height, width, channels = x.shape
        side, heads = self.window, channels // 32
        h = jnp.roll(nn.LayerNorm()(x), (-shift, -shift), axis=(1, 2))
        h = h.reshape(batch, height // side, side, width // side, side, channels)
        h = h.transpose(0, 1, 3, 2, 4, 5).reshape(-1, side * side, channels)
        h = nn.MultiHeadDotProductAttention(heads)(h)
        h = h.reshape(batch, height // side, width // side, side, side, channels)
        h = h.transpose(0, 1, 3, 2, 4, 5).reshape(x.shape)
        x += jnp.roll(h, (shift, shift), axis=(1, 2))
        return x + nn.Dense(channels)(nn.gelu(nn.Dense(4 * channels)(nn.LayerNorm()(x))))


def swin():
    """Own, of Flax layers (Apache-2.0): Swin, attention in shifted windows, patch merging."""
    return infer(Swin(), shape(8, 224, 224, 3))


class Perceiver(nn.Module):
    @nn.compact
    def __call__(self, pixels):
        latents = self.param("latents", nn.initializers.ones, (256, 512), BF16)
        latents = jnp.broadcast_to(latents, (pixels.shape[0], 256, 512))
        latents += nn.MultiHeadDotProductAttention(1, qkv_features=256, dtype=BF16)(latents, pixels)
        for _ in range(2):
            h = nn.LayerNorm(dtype=BF16)(latents)
            latents += nn.MultiHeadDotProductAttention(8, dtype=BF16)(h)
            h = nn.gelu(nn.Dense(2048, dtype=BF16)(nn.LayerNorm(dtype=BF16)(latents)))
            latents += nn.Dense(512, dtype=BF16)(h)
        return nn.Dense(1000, dtype=BF16)(latents.mean(axis=1))


def perceiver():
    """Own, of Flax layers (Apache-2.0): Perceiver, latents attend to many pixels, in bfloat16."""
    return infer(Perceiver(), shape(4, 3136, 261, dtype=BF16))


# Own: training


class Cnn(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (32, 64, 128):
            x = nn.avg_pool(nn.relu(nn.Conv(width, (3, 3))(x)), (2, 2), (2, 2))
        return nn.Dense(10)(nn.relu(nn.Dense(256)(x.reshape(x.shape[0], -1))))


def cnn_train():
    """Own, after the Flax MNIST example (Apache-2.0): a training step with momentum."""
    return train_classifier(Cnn(), optax.sgd(0.1, 0.9), shape(256, 32, 32, 3), ids(256))


class Vae(nn.Module):
    @nn.compact
    def __call__(self, images, key):
        x = nn.relu(nn.Dense(500)(images))
        mean, spread = nn.Dense(32)(x), nn.Dense(32)(x)
        code = mean + jnp.exp(spread / 2) * jax.random.normal(key, spread.shape)
        return perceptron(code, (500, images.shape[1])), mean, spread


def vae_train():
    """Own, after the Flax VAE example (Apache-2.0): a training step with Adam and sampling."""
    model = Vae()

    def loss(params, images, key):
        logits, mean, spread = model.apply(params, images, key)
        fit = optax.sigmoid_binary_cross_entropy(logits, images).sum(axis=1)
        return (fit + (jnp.exp(spread) + mean**2 - 1 - spread).sum(axis=1) / 2).mean()

    batch = shape(512, 784), KEY
    return train(loss, jax.eval_shape(model.init, KEY, *batch), optax.adam(1e-3), *batch)


class Generator(nn.Module):
    @nn.compact
    def __call__(self, noise):
        x = nn.Dense(4 * 4 * 256)(noise).reshape(-1, 4, 4, 256)
        for width in (128, 64):
            x = nn.relu(nn.LayerNorm()(nn.ConvTranspose(width, (4, 4), (2, 2))(x)))
        return nn.tanh(nn.ConvTranspose(3, (4, 4), (2, 2))(x))


class Critic(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (64, 128, 256):
            x = nn.leaky_relu(nn.Conv(width, (4, 4), (2, 2))(x), 0.2)
        return nn.Dense(1)(x.reshape(x.shape[0], -1))


def dcgan_train():
    """Own: a training step of a DCGAN's generator and critic with Adam."""
    generator, critic = Generator(), Critic()

    def loss(params, noise, images):
        fake = generator.apply(params[0], noise)
        score = critic.apply(jax.lax.stop_gradient(params[1]), fake)
        real = critic.apply(params[1], images)
        fooled = critic.apply(params[1], jax.lax.stop_gradient(fake))
        return (nn.softplus(-score) + nn.softplus(-real) + nn.softplus(fooled)).mean()

    noise, images = shape(64, 128), shape(64, 32, 32, 3)
    params = jax.eval_shape(generator.init, KEY, noise), jax.eval_shape(critic.init, KEY, images)
    return train(loss, params, optax.adam(2e-4, 0.5), noise, images)


class LanguageLstm(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(10000, 256)(tokens)
        for _ in range(2):
            x = nn.RNN(nn.OptimizedLSTMCell(256))(x)
        return nn.Dense(10000)(x)


def lstm_train():
    """Own, of Flax cells (Apache-2.0): a training step of an LSTM language model with clipping."""
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.rmsprop(1e-3))
    return train_classifier(LanguageLstm(), optimizer, ids(32, 64), ids(32, 64))


# transformers (Apache-2.0)


def transformer(name, dtype=F32, **settings):
    """A Flax model of transformers that computes in dtype, and the shapes of its parameters."""
    import transformers

    kind = getattr(transformers, f"Flax{name}")
    model = kind(kind.config_class(**settings), _do_init=False, dtype=dtype)
    return model, model.params_shape_tree


def infer_transformer(name, inputs, dtype=F32, **settings):
    """The forward pass for named inputs; bfloat16 is for the parameters too."""
    model, params = transformer(name, dtype, **settings)
    params = half(params) if dtype == BF16 else params

    def forward(params, inputs):
        return model(**inputs, params=params, train=False).to_tuple()

    return forward, (params, inputs)


def decode_transformer(name, batch, length, **settings):
    """A decoding step in bfloat16: one token a sequence, with a cache of keys and values."""
    model, params = transformer(name, BF16, **settings)

    def forward(params, cache, tokens, mask, positions):
        result = model(tokens, mask, positions, params=params, past_key_values=cache)
        return jnp.argmax(result.logits[:, -1], axis=-1), result.past_key_values

    cache = jax.eval_shape(lambda: model.init_cache(batch, length))
    return forward, (half(params), cache, ids(batch, 1), ids(batch, length), ids(batch, 1))


def bert():
    """transformers (Apache-2.0): BERT base, masked language model, 2 of 12 layers."""
    inputs = {"input_ids": ids(16, 128), "attention_mask": ids(16, 128)}
    return infer_transformer("BertForMaskedLM", inputs, num_hidden_layers=2)


def distilbert():
    """transformers (Apache-2.0): DistilBERT, span extraction, 2 of 6 layers, bfloat16."""
    inputs = {"input_ids": ids(8, 384), "attention_mask": ids(8, 384)}
    return infer_transformer("DistilBertForQuestionAnswering", inputs, BF16, n_layers=2)


def albert():
    """transformers (Apache-2.0): ALBERT large, the shared layer twice."""
    inputs = {"input_ids": ids(8, 256), "attention_mask": ids(8, 256)}
    return infer_transformer(
        "AlbertForSequenceClassification", inputs, hidden_size=1024, num_attention_heads=16,
        intermediate_size=4096, num_hidden_layers=2)


def roformer():
    """transformers (Apache-2.0): RoFormer, rotary positions, 2 of 12 layers."""
    inputs = {"input_ids": ids(4, 512), "attention_mask": ids(4, 512)}
    return infer_transformer(
        "RoFormerForTokenClassification", inputs, hidden_size=512, num_attention_heads=8,
        intermediate_size=2048, max_position_embeddings=512, num_hidden_layers=2)


def bigbird():
    """transformers (Apache-2.0): BigBird, block-sparse attention, 1 of 12 layers."""
    inputs = {"input_ids": ids(2, 1024), "attention_mask": ids(2, 1024)}
    return infer_transformer(
        "BigBirdForSequenceClassification", inputs, attention_type="block_sparse", block_size=64,
        num_hidden_layers=1)


def gpt2():
    """transformers (Apache-2.0): GPT-2, prefill, 2 of 12 layers, bfloat16."""
    return infer_transformer("GPT2LMHeadModel", {"input_ids": ids(4, 512)}, BF16, n_layer=2)


def gpt_neo():
    """transformers (Apache-2.0): GPT-Neo, a global and a local layer."""
    return infer_transformer(
        "GPTNeoForCausalLM", {"input_ids": ids(2, 768)}, hidden_size=1024, num_heads=16,
        num_layers=2, attention_types=[[["global", "local"], 1]], max_position_embeddings=1024,
        vocab_size=32000)


def gptj_decode():
    """transformers (Apache-2.0): GPT-J at half width, decoding, 2 of 28 layers."""
    return decode_transformer(
        "GPTJForCausalLM", 16, 512, n_embd=2048, n_head=16, n_layer=2, n_positions=512,
        rotary_dim=64)


def opt_decode():
    """transformers (Apache-2.0): OPT-125m, decoding a large batch, 2 of 12 layers."""
    return decode_transformer(
        "OPTForCausalLM", 64, 256, hidden_size=768, num_attention_heads=12, ffn_dim=3072,
        word_embed_proj_dim=768, max_position_embeddings=512, num_hidden_layers=2)


def gemma_decode():
    """transformers (Apache-2.0): Gemma 2b, one key head, decoding, 2 of 18 layers."""
    return decode_transformer(
        "GemmaForCausalLM", 8, 512, vocab_size=64000, hidden_size=2048, intermediate_size=16384,
        num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=1, head_dim=256,
        max_position_embeddings=512)


def mistral():
    """transformers (Apache-2.0): Mistral at half width, sliding window, 1 of 32 layers."""
    return infer_transformer(
        "MistralForCausalLM", {"input_ids": ids(2, 512)}, BF16, hidden_size=2048,
        intermediate_size=7168, num_attention_heads=16, num_key_value_heads=4, sliding_window=128,
        max_position_embeddings=512, num_hidden_layers=1)


def bloom():
    """transformers (Apache-2.0): BLOOM-560m, linear biases, 2 of 24 layers, bfloat16."""
    inputs = {"input_ids": ids(8, 200), "attention_mask": ids(8, 200)}
    return infer_transformer(
        "BloomForCausalLM", inputs, BF16, hidden_size=1024, n_head=16, n_layer=2,
        vocab_size=50000)


def bart():
    """transformers (Apache-2.0): BART base, an encoder and a decoder layer."""
    inputs = {"input_ids": ids(8, 512), "decoder_input_ids": ids(8, 96)}
    return infer_transformer(
        "BartForConditionalGeneration", inputs, encoder_layers=1, decoder_layers=1, d_model=768,
        encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072,
        decoder_ffn_dim=3072)


def whisper():
    """transformers (Apache-2.0): Whisper base, an encoder and a decoder layer, bfloat16."""
    inputs = {"input_features": shape(4, 80, 3000), "decoder_input_ids": ids(4, 64)}
    return infer_transformer(
        "WhisperForConditionalGeneration", inputs, BF16, d_model=512, encoder_layers=1,
        decoder_layers=1, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=2048, decoder_ffn_dim=2048)


def vit():
    """transformers (Apache-2.0): ViT B/16, 2 of 12 layers, bfloat16."""
    return infer_transformer(
        "ViTForImageClassification", {"pixel_values": shape(32, 3, 224, 224)}, BF16,
        num_hidden_layers=2)


def beit():
    """transformers (Apache-2.0): BEiT, relative position biases, 2 of 12 layers."""
    return infer_transformer(
        "BeitForImageClassification", {"pixel_values": shape(8, 3, 224, 224)}, hidden_size=768,
        num_hidden_layers=2, use_relative_position_bias=True, use_mask_token=False)


def dinov2():
    """transformers (Apache-2.0): DINOv2 small, 2 of 12 layers, patches of 14."""
    return infer_transformer(
        "Dinov2Model", {"pixel_values": shape(4, 3, 224, 224)}, hidden_size=384,
        num_attention_heads=6, num_hidden_layers=2, image_size=224)


def clip():
    """transformers (Apache-2.0): CLIP B/32, both towers with 1 of 12 layers, their similarity."""
    inputs = {"input_ids": ids(64, 77), "pixel_values": shape(64, 3, 224, 224)}
    inputs |= {"attention_mask": ids(64, 77), "position_ids": ids(64, 77)}
    return infer_transformer(
        "CLIPModel", inputs, text_config={"num_hidden_layers": 1},
        vision_config={"num_hidden_layers": 1})


def regnet():
    """transformers (Apache-2.0): RegNetY-4GF, grouped convolutions, 1-1-2-1 blocks."""
    return infer_transformer(
        "RegNetForImageClassification", {"pixel_values": shape(16, 3, 224, 224)},
        embedding_size=32, hidden_sizes=[128, 192, 512, 1088], depths=[1, 1, 2, 1], groups_width=64)


def electra_train():
    """transformers (Apache-2.0): ELECTRA small, replaced tokens, AdamW with dropout, 2 layers."""
    model, params = transformer("ElectraForPreTraining", num_hidden_layers=2)

    def loss(params, tokens, replaced, key):
        logits = model(tokens, params=params, dropout_rng=key, train=True).logits
        return optax.sigmoid_binary_cross_entropy(logits, replaced).mean()

    return train(loss, params, optax.adamw(1e-4), ids(32, 128), shape(32, 128), KEY)


def gpt2_train():
    """transformers (Apache-2.0): a narrow GPT-2, Adafactor, bfloat16 layers, 2 of 12."""
    model, params = transformer(
        "GPT2LMHeadModel", BF16, n_embd=512, n_head=8, n_layer=2, vocab_size=32000,
        n_positions=256)

    def loss(params, tokens):
        logits = model(tokens, params=params, train=False).logits
        return cross_entropy(logits[:, :-1], tokens[:, 1:])

    return train(loss, params, optax.adafactor(1e-3), ids(8, 256))


def vit_train():
    """transformers (Apache-2.0): ViT tiny with LAMB, 2 of 12 layers."""
    model, params = transformer(
        "ViTForImageClassification", hidden_size=192, num_attention_heads=3, intermediate_size=768,
        num_hidden_layers=2, image_size=160, num_labels=100)

    def loss(params, images, labels):
        return cross_entropy(model(images, params=params, train=False).logits, labels)

    return train(loss, params, optax.lamb(1e-3), shape(32, 3, 160, 160), ids(32))


# dm-haiku and jraph (Apache-2.0)


def haiku_net(forward, *inputs):
    """A Haiku function's application, and its parameters and state."""
    import haiku as hk

    net = hk.transform_with_state(forward)
    params, state = jax.eval_shape(net.init, KEY, *inputs)
    return net.apply, params, state


def infer_haiku(forward, *inputs):
    apply, params, state = haiku_net(forward, *inputs)

    def program(params, state, *inputs):
        return apply(params, state, None, *inputs)[0]

    return program, (params, state, *inputs)


def resnet18():
    """dm-haiku (Apache-2.0): ResNet-18 v2, basic blocks, bfloat16 images and weights."""
    import haiku as hk

    def forward(images, training=False):
        return hk.nets.ResNet18(1000, resnet_v2=True)(images, training)

    images = shape(32, 192, 192, 3, dtype=BF16)
    # Only training makes the running averages.
    _, params, state = haiku_net(functools.partial(forward, training=True), images)
    apply = hk.transform_with_state(forward).apply

    def program(params, state, images):
        return apply(params, state, None, images)[0]

    return program, (half(params), half(state), images)


def mobilenet_v1_train():
    """dm-haiku (Apache-2.0): MobileNetV1, a training step with Nesterov momentum."""
    import haiku as hk

    def forward(images):
        return hk.nets.MobileNetV1(num_classes=100)(images, is_training=True)

    images = shape(32, 128, 128, 3)
    apply, params, state = haiku_net(forward, images)

    def loss(params, state, images, labels):
        logits, _ = apply(params, state, None, images)
        return cross_entropy(logits, labels)

    return train(loss, params, optax.sgd(0.1, 0.9, True), state, images, ids(32))


def deep_lstm():
    """dm-haiku (Apache-2.0): three LSTM layers with skip connections."""
    import haiku as hk

    def forward(x):
        core = hk.deep_rnn_with_skip_connections([hk.LSTM(512) for _ in range(3)])
        outputs, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return hk.Linear(128)(outputs)

    return infer_haiku(forward, shape(96, 32, 128))


def conv_lstm():
    """dm-haiku (Apache-2.0): two convolutional LSTM layers over frames."""
    import haiku as hk

    def forward(x):
        core = hk.DeepRNN([hk.Conv2DLSTM((32, 32), 64, kernel) for kernel in (3, 5)])
        outputs, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return hk.BatchApply(hk.Conv2D(1, 1))(outputs)

    return infer_haiku(forward, shape(12, 16, 32, 32, 16))


def graph(nodes, edges, graphs, node_width, edge_width):
    import jraph

    return jraph.GraphsTuple(
        nodes=shape(nodes, node_width), edges=shape(edges, edge_width), senders=ids(edges),
        receivers=ids(edges), globals=shape(graphs, 16), n_node=ids(graphs), n_edge=ids(graphs))


def graph_network():
    """jraph, dm-haiku (Apache-2.0): a full graph network on molecules, two steps."""
    import haiku as hk
    import jraph

    def update(width):
        return lambda *parts: hk.nets.MLP([width, width])(jnp.concatenate(parts, axis=-1))

    def forward(graph):
        for _ in range(2):
            graph = jraph.GraphNetwork(update(64), update(128), update(128))(graph)
        return hk.Linear(12)(graph.globals)

    return infer_haiku(forward, graph(2048, 8192, 128, 75, 14))


def gcn():
    """jraph, dm-haiku (Apache-2.0): two graph convolutions on a citation graph."""
    import haiku as hk
    import jraph

    def forward(graph):
        graph = jraph.GraphConvolution(hk.Linear(128), add_self_edges=True)(graph)
        graph = graph._replace(nodes=nn.relu(graph.nodes))
        return jraph.GraphConvolution(hk.Linear(8), add_self_edges=True)(graph).nodes

    return infer_haiku(forward, graph(2708, 10556, 1, 1433, 1))


def gat():
    """jraph, dm-haiku (Apache-2.0): graph attention, two layers of four heads."""
    import haiku as hk
    import jraph

    heads = 4

    def score(sent, received, edges):
        del edges
        return jax.nn.leaky_relu(hk.Linear(1)(jnp.concatenate([sent, received], axis=-1)))

    def forward(graph):
        for width in (64, 32):
            layers = [jraph.GAT(hk.Linear(width), score, None) for _ in range(heads)]
            nodes = [jax.nn.elu(layer(graph).nodes) for layer in layers]
            graph = graph._replace(nodes=jnp.concatenate(nodes, axis=-1))
        return graph.nodes

    return infer_haiku(forward, graph(1024, 6144, 1, 256, 1))


# keras (Apache-2.0)


def infer_keras(build, images, policy="float32"):
    """The forward pass of build(keras.applications), whose variables are never initialised."""
    import keras

    keras.config.set_dtype_policy(policy)
    with keras.StatelessScope(initialize_variables=False):
        model = build(keras.applications)

    def forward(trainable, others, images):
        with keras.StatelessScope(initialize_variables=False):
            return model.stateless_call(trainable, others, images, training=False)[0]

    def shapes(variables):
        return [shape(*x.shape, dtype=x.dtype) for x in variables]

    trainable, others = shapes(model.trainable_variables), shapes(model.non_trainable_variables)
    return forward, (trainable, others, images)


def mobilenet_v2():
    """keras (Apache-2.0): MobileNetV2, mixed bfloat16."""
    return infer_keras(
        lambda nets: nets.MobileNetV2((160, 160, 3), weights=None), shape(32, 160, 160, 3),
        "mixed_bfloat16")


def mobilenet_v3():
    """keras (Apache-2.0): MobileNetV3 small, squeeze and excitation, hard swish."""
    return infer_keras(
        lambda nets: nets.MobileNetV3Small((224, 224, 3), weights=None), shape(32, 224, 224, 3))


def one_each(blocks):
    """The blocks of a Keras EfficientNet, each once."""
    repeats = "num_repeat" if "num_repeat" in blocks[0] else "repeats"
    return [block | {repeats: 1} for block in blocks]


def efficientnet_b0():
    """keras (Apache-2.0): EfficientNetB0, each block once, mixed bfloat16."""

    def build(nets):
        from keras.src.applications import efficientnet

        blocks = one_each(efficientnet.DEFAULT_BLOCKS_ARGS)
        return efficientnet.EfficientNet(
            1.0, 1.0, 224, blocks_args=blocks, weights=None, input_shape=(224, 224, 3))

    return infer_keras(build, shape(16, 224, 224, 3), "mixed_bfloat16")


def efficientnet_v2():
    """keras (Apache-2.0): EfficientNetV2 small, each block once."""

    def build(nets):
        from keras.src.applications import efficientnet_v2 as source

        blocks = one_each(source.DEFAULT_BLOCKS_ARGS["efficientnetv2-s"])
        return source.EfficientNetV2(
            1.0, 1.0, 192, blocks_args=blocks, weights=None, input_shape=(192, 192, 3))

    return infer_keras(build, shape(8, 192, 192, 3))


def densenet():
    """keras (Apache-2.0): DenseNet with 2-3-3-2 layers a block."""

    def build(nets):
        from keras.src.applications import densenet as source

        return source.DenseNet([2, 3, 3, 2], weights=None, input_shape=(224, 224, 3))

    return infer_keras(build, shape(8, 224, 224, 3))


def xception():
    """keras (Apache-2.0): Xception up to its first middle block, mixed bfloat16."""

    def build(nets):
        import keras

        whole = nets.Xception(weights=None, input_shape=(299, 299, 3))
        return keras.Model(whole.input, whole.get_layer("block6_sepconv1").output)

    return infer_keras(build, shape(8, 299, 299, 3), "mixed_bfloat16")


def nasnet():
    """keras (Apache-2.0): NASNet mobile with one normal cell a stage."""

    def build(nets):
        from keras.src.applications import nasnet as source

        return source.NASNet(
            (224, 224, 3), 1056, num_blocks=1, stem_block_filters=32, skip_reduction=False,
            weights=None)

    return infer_keras(build, shape(8, 224, 224, 3))


def convnext():
    """keras (Apache-2.0): ConvNeXt tiny, one block a stage."""

    def build(nets):
        from keras.src.applications import convnext as source

        return source.ConvNeXt(
            depths=[1, 1, 1, 1], projection_dims=[96, 192, 384, 768], weights=None,
            input_shape=(224, 224, 3))

    return infer_keras(build, shape(8, 224, 224, 3))


# Name, family, and what returns the function and its arguments; the cheapest to import first.
PROGRAMS = [
    ("nerf", "experts and perceptrons", nerf),
    ("dlrm", "graph and embedding", dlrm),
    ("cnn_train", "convolutional", cnn_train),
    ("mmoe", "experts and perceptrons", mmoe),
    ("vae_train", "convolutional", vae_train),
    ("wavenet", "convolutional", wavenet),
    ("s4_fft", "Fourier", s4_fft),
    ("edsr", "convolutional", edsr),
    ("two_tower", "graph and embedding", two_tower),
    ("spectrogram_net", "Fourier", spectrogram_net),
    ("gru_seq2seq", "recurrent and scan", gru_seq2seq),
    ("int8_convnet", "convolutional", int8_convnet),
    ("soft_moe", "experts and perceptrons", soft_moe),
    ("deep_cross", "graph and embedding", deep_cross),
    ("gmlp", "experts and perceptrons", gmlp),
    ("hyena", "Fourier", hyena),
    ("gfnet", "Fourier", gfnet),
    ("video_r2plus1d", "convolutional", video_r2plus1d),
    ("mamba", "recurrent and scan", mamba),
    ("nerf_train", "experts and perceptrons", nerf_train),
    ("dlrm_train", "graph and embedding", dlrm_train),
    ("perceiver", "attention", perceiver),
    ("switch_sorted", "experts and perceptrons", switch_sorted),
    ("dcgan_train", "convolutional", dcgan_train),
    ("deeplab", "convolutional", deeplab),
    ("shufflenet", "convolutional", shufflenet),
    ("swin", "attention", swin),
    ("lstm_train", "recurrent and scan", lstm_train),
    ("rwkv", "recurrent and scan", rwkv),
    ("bert", "attention", bert),
    ("gcn", "graph and embedding", gcn),
    ("gptj_decode", "attention", gptj_decode),
    ("mobilenet_v2", "convolutional", mobilenet_v2),
    ("deep_lstm", "recurrent and scan", deep_lstm),
    ("opt_decode", "attention", opt_decode),
    ("convnext", "convolutional", convnext),
    ("graph_network", "graph and embedding", graph_network),
    ("gpt2", "attention", gpt2),
    ("efficientnet_b0", "convolutional", efficientnet_b0),
    ("electra_train", "attention", electra_train),
    ("whisper", "attention", whisper),
    ("conv_lstm", "recurrent and scan", conv_lstm),
    ("densenet", "convolutional", densenet),
    ("vit", "attention", vit),
    ("gat", "graph and embedding", gat),
    ("resnet18", "convolutional", resnet18),
    ("gemma_decode", "attention", gemma_decode),
    ("bigbird", "attention", bigbird),
    ("vit_train", "attention", vit_train),
    ("regnet", "convolutional", regnet),
    ("clip", "attention", clip),
    ("bart", "attention", bart),
    ("mobilenet_v3", "convolutional", mobilenet_v3),
    ("roformer", "attention", roformer),
    ("bloom", "attention", bloom),
    ("gpt2_train", "attention", gpt2_train),
    ("beit", "attention", beit),
    ("xception", "convolutional", xception),
    ("mistral", "attention", mistral),
    ("mobilenet_v1_train", "convolutional", mobilenet_v1_train),
    ("gpt_neo", "attention", gpt_neo),
    ("efficientnet_v2", "convolutional", efficientnet_v2),
    ("distilbert", "attention", distilbert),
    ("dinov2", "attention", dinov2),
    ("albert", "attention", albert),
    ("nasnet", "convolutional", nasnet),
]


def hlo_text(name, function, arguments):
    def program(*arguments):
        return function(*arguments)

    program.__name__ = name
    lowered = jax.jit(program).trace(*arguments).lower(lowering_platforms=("tpu",))
    return lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True)


def write(folder, name, build):
    text = hlo_text(name, *build())
    partial = folder / f"{name}.partial"
    partial.write_text(text)
    partial.rename(folder / f"{name}.before.hlo")
    return text.count("\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="all by default")
    options = parser.parse_args()
    unknown = set(options.names) - {name for name, _, _ in PROGRAMS}
    if unknown:
        parser.error(f"unknown programs: {' '.join(sorted(unknown))}")
    options.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, family, build in PROGRAMS:
        if options.names and name not in options.names:
            continue
        start = time.monotonic()
        try:
            lines = write(options.out, name, build)
            seconds = time.monotonic() - start
            print(f"{name}: {family}, {lines} lines, {seconds:.1f} s", flush=True)
        except Exception:  # one library's failure leaves the other programs
            traceback.print_exc()
            print(f"{name}: failed", flush=True)
            failed += 1
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
