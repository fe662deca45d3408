"""Codecs, vocoders and speech synthesis from transformers; models with states beside attention; series."""

import torch
import transformers as tf

from case import Case, family
from dense import awake
from language import WORDS, decoder, first, sound, words


def waves(model, samples=(640, 960), name="input_values", pick=None):
    """A network that takes sound of one channel."""
    return Case(
        model.eval(),
        inputs=lambda batch, samples: {name: torch.randn(batch, 1, samples)},
        dims={"batch": (2, 1), "samples": samples},
        axes={name: {0: "batch", 2: "samples"}},
        pick=pick,
    )


def mels(model, name, bands, steps=(20, 13), pick=None, **more):
    """A network that takes spectra, one a step."""
    return Case(
        model.eval(),
        inputs=lambda batch, steps: {name: torch.randn(batch, steps, bands)},
        dims={"batch": (2, 1), "steps": steps},
        axes={name: {0: "batch", 1: "steps"}},
        pick=pick,
        **more,
    )


@family("dac")
def dac():
    config = tf.DacConfig(encoder_hidden_size=8, downsampling_ratios=[2, 4], decoder_hidden_size=32, upsampling_ratios=[4, 2], n_codebooks=2, codebook_size=32, codebook_dim=4)
    return waves(awake(tf.DacModel(config)), pick=lambda out: out.audio_values)


@family("mimi")
def mimi():
    config = tf.MimiConfig(
        hidden_size=32, num_filters=8, num_residual_layers=1, upsampling_ratios=[4, 2], codebook_size=16, codebook_dim=16, num_quantizers=3,
        num_semantic_quantizers=1, vector_quantization_hidden_dimension=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=16,
        intermediate_size=32, upsample_groups=32, use_cache=False, frame_rate=1500, sampling_rate=24000,
    )
    return waves(tf.MimiModel(config), pick=lambda out: out.audio_values)


@family("univnet")
def univnet():
    config = tf.UnivNetConfig(
        model_in_channels=8, model_hidden_channels=8, num_mel_bins=16, resblock_kernel_sizes=[3], resblock_stride_sizes=[4], resblock_dilation_sizes=[[1, 3]],
        kernel_predictor_num_blocks=1, kernel_predictor_hidden_channels=8,
    )
    return Case(
        awake(tf.UnivNetModel(config)).eval(),
        inputs=lambda batch: {"input_features": torch.randn(batch, 10, 16), "noise_sequence": torch.randn(batch, 10, 8)},
        dims={"batch": (2, 1)},
        axes={n: {0: "batch"} for n in ("input_features", "noise_sequence")},
        pick=first,
    )


@family("hifi_gan")
def hifi_gan():
    config = tf.SpeechT5HifiGanConfig(
        model_in_dim=16, upsample_initial_channel=32, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3, 5],
        resblock_dilation_sizes=[[1, 3], [1, 2]],
    )
    return mels(awake(tf.SpeechT5HifiGan(config)), "spectrogram", 16)


@family("vits")
def vits():
    config = tf.VitsConfig(
        vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=64, flow_size=32, spectrogram_bins=17,
        upsample_initial_channel=32, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]],
        posterior_encoder_num_wavenet_layers=2, prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2, depth_separable_num_layers=2,
        duration_predictor_flow_bins=4, duration_predictor_filter_channels=16, noise_scale=0.0, noise_scale_duration=0.0,
    )
    return Case(tf.VitsModel(config).eval(), inputs=lambda: {"input_ids": words(1, 9)}, pick=lambda out: out.waveform)


@family("fast_speech2_conformer")
def fast_speech2_conformer():
    config = tf.FastSpeech2ConformerConfig(
        hidden_size=32, vocab_size=WORDS, num_mel_bins=16, encoder_layers=1, decoder_layers=1, encoder_num_attention_heads=2, decoder_num_attention_heads=2,
        encoder_linear_units=32, decoder_linear_units=32, duration_predictor_channels=16, energy_predictor_channels=16, pitch_predictor_channels=16,
        pitch_predictor_layers=2, speech_decoder_postnet_units=16, speech_decoder_postnet_layers=2,
    )
    return Case(tf.FastSpeech2ConformerModel(config).eval(), inputs=lambda: {"input_ids": words(1, 9)}, pick=lambda out: out.spectrogram)


@family("clap_audio")
def clap_audio():
    config = tf.ClapAudioConfig(
        window_size=4, num_mel_bins=16, spec_size=64, patch_size=4, patch_stride=[4, 4], num_classes=4, hidden_size=64, projection_dim=16, depths=[1, 1],
        num_attention_heads=[2, 2], patch_embeds_hidden_size=16, num_hidden_layers=2, enable_fusion=False,
    )
    return Case(
        tf.ClapAudioModel(config).eval(), inputs=lambda batch: {"input_features": torch.randn(batch, 1, 100, 16)}, dims={"batch": (2, 1)},
        axes={"input_features": {0: "batch"}}, pick=lambda out: out.pooler_output,
    )


@family("musicgen")
def musicgen():
    config = tf.MusicgenDecoderConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=64, num_codebooks=2, max_position_embeddings=64, use_cache=False,
        pad_token_id=64, bos_token_id=64,
    )
    return Case(
        tf.MusicgenForCausalLM(config).eval(),
        inputs=lambda batch, seq: {"input_ids": torch.randint(0, 64, (batch * 2, seq))},
        dims={"batch": (2, 2), "seq": (12, 7)},
        axes={"input_ids": {1: "seq"}},
        pick=first,
    )


@family("parakeet_ctc")
def parakeet_ctc():
    encoder = dict(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_mel_bins=16, subsampling_factor=4, subsampling_conv_channels=8,
        conv_kernel_size=5, max_position_embeddings=64,
    )
    return mels(tf.ParakeetForCTC(tf.ParakeetCTCConfig(vocab_size=33, pad_token_id=32, encoder_config=encoder)), "input_features", 16, steps=(40, 33), pick=first)


@family("bark_fine")
def bark_fine():
    config = tf.BarkFineConfig(block_size=64, input_vocab_size=32, output_vocab_size=32, num_layers=2, num_heads=2, hidden_size=32, n_codes_total=4, n_codes_given=1)

    class Second(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = tf.BarkFineModel(config)

        def forward(self, input_ids):
            return self.model(2, input_ids=input_ids).logits

    return Case(
        Second().eval(), inputs=lambda batch, seq: {"input_ids": torch.randint(0, 32, (batch, seq, 4))}, dims={"batch": (2, 1), "seq": (12, 7)},
        axes={"input_ids": {0: "batch", 1: "seq"}},
    )


family("sew_d")(lambda: sound(tf.SEWDForCTC(tf.SEWDConfig(
    vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, squeeze_factor=2, max_position_embeddings=64, position_buckets=8,
    conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, num_feat_extract_layers=3,
))))

# States beside attention.

decoder("falcon_mamba", "FalconMambaConfig", "FalconMambaForCausalLM", base={}, mask=False, dims={"batch": (2, 1), "seq": (12, 12)}, vocab_size=WORDS, hidden_size=32, state_size=4, num_hidden_layers=2)
decoder(
    "zamba2", "Zamba2Config", "Zamba2ForCausalLM", dims={"batch": (2, 1), "seq": (12, 12)}, num_key_value_heads=2, mamba_d_state=8, mamba_headdim=16, n_mamba_heads=4,
    mamba_ngroups=1, num_mem_blocks=1, layers_block_type=["mamba", "hybrid"], chunk_size=8, adapter_rank=4, attention_hidden_size=64, attention_head_dim=32,
)
decoder(
    "bamba", "BambaConfig", "BambaForCausalLM", dims={"batch": (2, 1), "seq": (12, 12)}, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=1,
    mamba_chunk_size=8, attn_layer_indices=[1],
)
decoder(
    "falcon_h1", "FalconH1Config", "FalconH1ForCausalLM", dims={"batch": (2, 1), "seq": (12, 12)}, mamba_d_ssm=64, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8,
    mamba_n_groups=1, mamba_chunk_size=8,
)
decoder(
    "qwen3_next", "Qwen3NextConfig", "Qwen3NextForCausalLM", dims={"batch": (2, 1), "seq": (12, 12)}, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
    shared_expert_intermediate_size=32, linear_num_value_heads=2, linear_num_key_heads=2, linear_key_head_dim=8, linear_value_head_dim=8,
    layer_types=["linear_attention", "full_attention"],
)
decoder(
    "minimax", "MiniMaxConfig", "MiniMaxForCausalLM", dims={"batch": (2, 1), "seq": (12, 12)}, num_local_experts=4, num_experts_per_tok=2, block_size=4,
    layer_types=["full_attention", "linear_attention"],
)
decoder("xlstm", "xLSTMConfig", "xLSTMForCausalLM", base={}, mask=False, dims={"batch": (2, 1), "seq": (16, 16)}, vocab_size=WORDS, hidden_size=32, num_blocks=2, num_heads=2, chunk_size=8, return_last_states=False, mode="inference")


@family("decision_transformer")
def decision_transformer():
    config = tf.DecisionTransformerConfig(state_dim=5, act_dim=3, hidden_size=32, max_ep_len=40, n_layer=2, n_head=2, n_positions=128, vocab_size=1)
    return Case(
        tf.DecisionTransformerModel(config).eval(),
        inputs=lambda batch, steps: {
            "states": torch.randn(batch, steps, 5), "actions": torch.randn(batch, steps, 3), "rewards": torch.randn(batch, steps, 1),
            "returns_to_go": torch.randn(batch, steps, 1), "timesteps": torch.arange(steps).repeat(batch, 1), "attention_mask": torch.ones(batch, steps),
        },
        dims={"batch": (2, 1), "steps": (6, 9)},
        axes={n: {0: "batch", 1: "steps"} for n in ("states", "actions", "rewards", "returns_to_go", "timesteps", "attention_mask")},
        pick=lambda out: (out.state_preds, out.action_preds),
    )


@family("patch_tsmixer")
def patch_tsmixer():
    config = tf.PatchTSMixerConfig(context_length=24, patch_length=4, patch_stride=4, num_input_channels=2, d_model=8, num_layers=2, prediction_length=6, self_attn=True, self_attn_heads=2)
    return Case(
        tf.PatchTSMixerForPrediction(config).eval(), inputs=lambda batch: {"past_values": torch.randn(batch, 24, 2)}, dims={"batch": (2, 1)},
        axes={"past_values": {0: "batch"}}, pick=lambda out: out.prediction_outputs,
    )


@family("times_fm")
def times_fm():
    config = tf.TimesFmConfig(patch_length=4, context_length=16, horizon_length=8, hidden_size=32, intermediate_size=32, head_dim=16, num_hidden_layers=2, num_attention_heads=2)

    class Body(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = tf.TimesFmModel(config)

        def forward(self, past_values):
            return self.model(past_values, torch.zeros(past_values.shape, dtype=torch.int64), torch.zeros(past_values.shape[0], 1, dtype=torch.int64)).last_hidden_state

    return Case(Body().eval(), inputs=lambda batch: {"past_values": torch.randn(batch, 16)}, dims={"batch": (2, 1)}, axes={"past_values": {0: "batch"}})
