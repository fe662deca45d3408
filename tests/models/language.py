"""Networks for text, sound and several of them at once, from transformers and plain PyTorch."""

import torch
import transformers as tf
from torch import nn

from case import Case, family

WORDS = 100
ENCODER = dict(
    vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=64,
)
DECODER = dict(**ENCODER, num_key_value_heads=1, head_dim=16)


def words(batch, seq, low=3):
    return torch.randint(low, WORDS, (batch, seq))


def masked(batch, seq):
    """Marks what is text; the last text of several is shorter than the others."""
    mask = torch.ones(batch, seq, dtype=torch.int64)
    if batch > 1:
        mask[-1, seq - 2 :] = 0
    return mask


SEQUENCES = {"batch": (2, 1, 3), "seq": (12, 7, 16)}
# For networks whose loops over a text are unrolled when they are exported.
STEPS = {"batch": (2, 1, 3), "seq": (16, 16, 16)}


def text(model, mask=True, pick=None, dims=None, **more):
    names = ["input_ids"] + (["attention_mask"] if mask else [])

    def inputs(batch, seq):
        made = {"input_ids": words(batch, seq)}
        if mask:
            made["attention_mask"] = masked(batch, seq)
        return made

    return Case(
        model.eval(), inputs=inputs, dims=dims or SEQUENCES, axes={n: {0: "batch", 1: "seq"} for n in names}, pick=pick, **more
    )


def first(out):
    return out[0]


def encoder(name, config, model, listed=False, mask=True, dims=None, **more):
    def make():
        settings = {**ENCODER, **more}
        settings = {k: v for k, v in settings.items() if v is not None}
        return text(getattr(tf, model)(getattr(tf, config)(**settings)), mask=mask, pick=first, dims=dims)

    family(name, listed)(make)


def decoder(name, config, model, listed=False, mask=True, base=DECODER, dims=None, **more):
    def make():
        made = getattr(tf, config)(**{**base, **more})
        # Experts as products of batches: the default has operators that exporters do not know.
        made._experts_implementation = "batched_mm"
        made.use_cache = False
        return text(getattr(tf, model)(made), mask=mask, pick=first, dims=dims)

    family(name, listed)(make)


encoder("bert", "BertConfig", "BertForMaskedLM", listed=True)
encoder("distilbert", "DistilBertConfig", "DistilBertForMaskedLM", listed=True, dim=32, n_layers=2, n_heads=2, hidden_dim=64)
encoder("roberta", "RobertaConfig", "RobertaForMaskedLM", listed=True, pad_token_id=1)
encoder("albert", "AlbertConfig", "AlbertForMaskedLM", listed=True, embedding_size=16)
encoder("deberta", "DebertaConfig", "DebertaForMaskedLM", listed=True, relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=16)
encoder("deberta_v2", "DebertaV2Config", "DebertaV2ForMaskedLM", listed=True, relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True)
encoder("electra", "ElectraConfig", "ElectraForMaskedLM", embedding_size=16)
encoder("mpnet", "MPNetConfig", "MPNetForMaskedLM")
encoder("mobilebert", "MobileBertConfig", "MobileBertForMaskedLM", embedding_size=16, intra_bottleneck_size=16, num_feedforward_networks=2)
encoder("squeezebert", "SqueezeBertConfig", "SqueezeBertForMaskedLM", embedding_size=32)
encoder("roformer", "RoFormerConfig", "RoFormerForMaskedLM", embedding_size=32)
encoder("convbert", "ConvBertConfig", "ConvBertForMaskedLM", embedding_size=16, head_ratio=2, conv_kernel_size=3)
encoder("nystromformer", "NystromformerConfig", "NystromformerForMaskedLM", dims=STEPS, num_landmarks=4, segment_means_seq_len=16)
encoder("fnet", "FNetConfig", "FNetForMaskedLM", mask=False)
encoder("xlm_roberta", "XLMRobertaConfig", "XLMRobertaForTokenClassification", pad_token_id=1)
encoder("modernbert", "ModernBertConfig", "ModernBertForMaskedLM", pad_token_id=0, cls_token_id=1, sep_token_id=2, local_attention=4)
encoder("esm", "EsmConfig", "EsmForMaskedLM", pad_token_id=1, mask_token_id=2, position_embedding_type="rotary")
encoder("ibert", "IBertConfig", "IBertForMaskedLM", pad_token_id=1)

decoder("gpt2", "GPT2Config", "GPT2LMHeadModel", listed=True, base={}, vocab_size=WORDS, n_embd=32, n_layer=2, n_head=2, n_positions=64)
decoder("llama", "LlamaConfig", "LlamaForCausalLM", listed=True)
decoder("qwen2", "Qwen2Config", "Qwen2ForCausalLM", listed=True)
decoder("qwen3", "Qwen3Config", "Qwen3ForCausalLM", listed=True)
decoder("mixtral", "MixtralConfig", "MixtralForCausalLM", listed=True, num_local_experts=4, num_experts_per_tok=2)
decoder("qwen2_moe", "Qwen2MoeConfig", "Qwen2MoeForCausalLM", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32)
decoder("mistral", "MistralConfig", "MistralForCausalLM", sliding_window=4)
decoder("gemma", "GemmaConfig", "GemmaForCausalLM")
decoder("gemma2", "Gemma2Config", "Gemma2ForCausalLM", sliding_window=4)
decoder("gemma3", "Gemma3TextConfig", "Gemma3ForCausalLM", sliding_window=4)
decoder("phi", "PhiConfig", "PhiForCausalLM", num_key_value_heads=2)
decoder("phi3", "Phi3Config", "Phi3ForCausalLM", pad_token_id=0)
decoder("olmo2", "Olmo2Config", "Olmo2ForCausalLM")
decoder("stablelm", "StableLmConfig", "StableLmForCausalLM")
decoder("starcoder2", "Starcoder2Config", "Starcoder2ForCausalLM")
decoder("cohere", "CohereConfig", "CohereForCausalLM", pad_token_id=0, bos_token_id=1, eos_token_id=2)
decoder("granite", "GraniteConfig", "GraniteForCausalLM")
decoder("gpt_oss", "GptOssConfig", "GptOssForCausalLM", num_local_experts=4, num_experts_per_tok=2, sliding_window=4)
decoder("deepseek_v3", "DeepseekV3Config", "DeepseekV3ForCausalLM", num_key_value_heads=2, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1, moe_intermediate_size=32, first_k_dense_replace=1, kv_lora_rank=16, q_lora_rank=16, head_dim=8, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16)
decoder("opt", "OPTConfig", "OPTForCausalLM", base={}, vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, ffn_dim=64, num_attention_heads=2, max_position_embeddings=64, word_embed_proj_dim=32)
decoder("gpt_neo", "GPTNeoConfig", "GPTNeoForCausalLM", base={}, vocab_size=WORDS, hidden_size=32, num_layers=2, num_heads=2, attention_types=[[["global", "local"], 1]], window_size=4, max_position_embeddings=64)
decoder("gpt_neox", "GPTNeoXConfig", "GPTNeoXForCausalLM", base=ENCODER)
decoder("gptj", "GPTJConfig", "GPTJForCausalLM", base={}, vocab_size=WORDS, n_embd=32, n_layer=2, n_head=2, n_positions=64, rotary_dim=8)
decoder("codegen", "CodeGenConfig", "CodeGenForCausalLM", base={}, vocab_size=WORDS, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=8, n_ctx=64)
decoder("falcon", "FalconConfig", "FalconForCausalLM", base={}, vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2)
decoder("falcon_alibi", "FalconConfig", "FalconForCausalLM", base={}, vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, alibi=True)
decoder("bloom", "BloomConfig", "BloomForCausalLM", base={}, vocab_size=WORDS, hidden_size=32, n_layer=2, n_head=2)
decoder("mpt", "MptConfig", "MptForCausalLM", base={}, vocab_size=WORDS, d_model=32, n_layers=2, n_heads=2, max_seq_len=64)
decoder("xglm", "XGLMConfig", "XGLMForCausalLM", base={}, vocab_size=WORDS, d_model=32, num_layers=2, attention_heads=2, ffn_dim=64, max_position_embeddings=64)
decoder("mamba", "MambaConfig", "MambaForCausalLM", listed=True, mask=False, dims=STEPS, base={}, vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, state_size=4, time_step_rank=4)
decoder("mamba2", "Mamba2Config", "Mamba2ForCausalLM", mask=False, dims=STEPS, base={}, vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, state_size=8, num_heads=4, head_dim=16, n_groups=1, chunk_size=8)
decoder("rwkv", "RwkvConfig", "RwkvForCausalLM", mask=False, dims=STEPS, base={}, vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, context_length=64)
decoder("recurrent_gemma", "RecurrentGemmaConfig", "RecurrentGemmaForCausalLM", dims=STEPS, num_hidden_layers=3, lru_width=32, attention_window_size=8)
decoder("xlnet", "XLNetConfig", "XLNetLMHeadModel", base={}, vocab_size=WORDS, d_model=32, n_layer=2, n_head=2, d_inner=64)
decoder("ctrl", "CTRLConfig", "CTRLLMHeadModel", base={}, vocab_size=WORDS, n_embd=32, dff=64, n_layer=2, n_head=2, n_positions=64)
decoder("jamba", "JambaConfig", "JambaForCausalLM", dims=STEPS, num_hidden_layers=2, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=2, num_experts_per_tok=1, mamba_d_state=4, mamba_dt_rank=4, use_mamba_kernels=False)


class Cached(nn.Module):
    """One more token for a decoder, with the keys and values of those before."""

    def __init__(self, net, layers):
        super().__init__()
        self.net, self.layers = net, layers

    def forward(self, input_ids, attention_mask, past):
        cache = tf.DynamicCache()
        for i in range(self.layers):
            cache.update(past[i, 0], past[i, 1], i)
        out = self.net(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        return out.logits, *[t for layer in cache.layers for t in (layer.keys, layer.values)]


def cached(net, heads, size):
    net.eval()
    return Case(
        Cached(net, 2),
        inputs=lambda batch, past: {
            "input_ids": words(batch, 1),
            "attention_mask": torch.ones(batch, past + 1, dtype=torch.int64),
            "past": torch.randn(2, 2, batch, heads, past, size),
        },
        dims={"batch": (2, 1, 3), "past": (6, 9, 4)},
        axes={"input_ids": {0: "batch"}, "attention_mask": {0: "batch", 1: ("past", 1, 1)}, "past": {2: "batch", 4: "past"}},
    )


@family("llama_cached")
def llama_cached():
    return cached(tf.LlamaForCausalLM(tf.LlamaConfig(**DECODER)), 1, 16)


@family("gpt2_cached")
def gpt2_cached():
    config = tf.GPT2Config(vocab_size=WORDS, n_embd=32, n_layer=2, n_head=2, n_positions=64)
    return cached(tf.GPT2LMHeadModel(config), 2, 16)


def two_texts(model, pick=first, **more):
    """An encoder of one text and a decoder of another."""
    return Case(
        model.eval(),
        inputs=lambda batch, seq, out: {"input_ids": words(batch, seq), "attention_mask": masked(batch, seq), "decoder_input_ids": words(batch, out)},
        dims={"batch": (2, 1, 3), "seq": (12, 7, 16), "out": (5, 8, 3)},
        axes={
            "input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}, "decoder_input_ids": {0: "batch", 1: "out"},
        },
        pick=pick,
        **more,
    )


SEQ2SEQ = dict(
    vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
    encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64, use_cache=False,
)
T5 = dict(vocab_size=WORDS, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, use_cache=False, decoder_start_token_id=0)

family("t5", listed=True)(lambda: two_texts(tf.T5ForConditionalGeneration(tf.T5Config(**T5))))
family("bart", listed=True)(lambda: two_texts(tf.BartForConditionalGeneration(tf.BartConfig(**SEQ2SEQ))))
family("mt5")(lambda: two_texts(tf.MT5ForConditionalGeneration(tf.MT5Config(**T5))))
family("longt5")(lambda: two_texts(tf.LongT5ForConditionalGeneration(tf.LongT5Config(**T5, local_radius=4, encoder_attention_type="local"))))
family("pegasus")(lambda: two_texts(tf.PegasusForConditionalGeneration(tf.PegasusConfig(**SEQ2SEQ))))
family("marian")(lambda: two_texts(tf.MarianMTModel(tf.MarianConfig(**SEQ2SEQ, pad_token_id=0, decoder_start_token_id=0))))
family("m2m_100")(lambda: two_texts(tf.M2M100ForConditionalGeneration(tf.M2M100Config(**SEQ2SEQ))))
family("blenderbot")(lambda: two_texts(tf.BlenderbotForConditionalGeneration(tf.BlenderbotConfig(**SEQ2SEQ))))
family("switch_transformers")(
    lambda: two_texts(tf.SwitchTransformersForConditionalGeneration(tf.SwitchTransformersConfig(**T5, num_experts=2, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1)))
)


@family("longformer")
def longformer():
    config = tf.LongformerConfig(**ENCODER, attention_window=[4, 4], pad_token_id=1)
    return text(tf.LongformerForMaskedLM(config), pick=first, dims={"batch": (2, 1), "seq": (16, 16)})


@family("big_bird")
def big_bird():
    return text(tf.BigBirdForMaskedLM(tf.BigBirdConfig(**ENCODER, attention_type="original_full")), pick=first)


@family("reformer")
def reformer():
    config = tf.ReformerConfig(
        vocab_size=WORDS, hidden_size=32, attention_head_size=16, num_attention_heads=2, feed_forward_size=64, attn_layers=["local", "local"],
        local_attn_chunk_length=4, axial_pos_shape=(4, 4), axial_pos_embds_dim=(16, 16), is_decoder=False, max_position_embeddings=16,
    )
    return text(tf.ReformerModel(config), pick=first, dims={"batch": (2, 1), "seq": (16, 16)})


@family("funnel")
def funnel():
    config = tf.FunnelConfig(vocab_size=WORDS, block_sizes=[1, 1], d_model=32, n_head=2, d_head=16, d_inner=64, num_decoder_layers=1)
    return text(tf.FunnelForMaskedLM(config), pick=first, dims={"batch": (2, 1), "seq": (12, 12)})


@family("canine")
def canine():
    config = tf.CanineConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=64, num_hash_functions=4,
        num_hash_buckets=64, local_transformer_stride=16, downsampling_rate=4,
    )
    return text(tf.CanineModel(config), pick=first, dims={"batch": (2, 1), "seq": (16, 16)})


@family("perceiver")
def perceiver():
    config = tf.PerceiverConfig(
        num_latents=8, d_latents=32, d_model=32, num_blocks=1, num_self_attends_per_block=2, num_self_attention_heads=2,
        num_cross_attention_heads=2, vocab_size=WORDS, max_position_embeddings=16,
    )
    net = tf.PerceiverForMaskedLM(config).eval()
    return Case(
        net,
        inputs=lambda batch: {"inputs": words(batch, 16), "attention_mask": masked(batch, 16)},
        dims={"batch": (2, 1)},
        axes={"inputs": {0: "batch"}, "attention_mask": {0: "batch"}},
        pick=first,
    )


# Plain PyTorch.


class Language(nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 16)
        self.net = kind(16, 24, num_layers=2, batch_first=True, **more)
        self.head = nn.Linear(24 * (2 if self.net.bidirectional else 1), WORDS)

    def forward(self, input_ids):
        y, state = self.net(self.embed(input_ids))
        return self.head(y), state


family("lstm_language_model", listed=True)(lambda: text(Language(nn.LSTM), mask=False))
family("lstm_bidirectional")(lambda: text(Language(nn.LSTM, bidirectional=True), mask=False))
family("lstm_projected")(lambda: text(ProjectedLanguage(), mask=False))
family("gru")(lambda: text(Language(nn.GRU), mask=False))
family("gru_bidirectional")(lambda: text(Language(nn.GRU, bidirectional=True), mask=False))
family("rnn_tanh")(lambda: text(Language(nn.RNN), mask=False))


class ProjectedLanguage(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 16)
        self.cell = nn.LSTMCell(16, 24)
        self.head = nn.Linear(24, WORDS)

    def forward(self, input_ids):
        x = self.embed(input_ids)
        h = x.new_zeros(x.shape[0], 24)
        state, out = (h, h), []
        for t in range(4):
            state = self.cell(x[:, t], state)
            out.append(self.head(state[0]))
        return torch.stack(out, 1)


@family("torch_transformer")
def torch_transformer():
    net = nn.Transformer(d_model=32, nhead=2, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=64, batch_first=True)
    return Case(
        net.eval(),
        inputs=lambda batch, seq, out: {"src": torch.randn(batch, seq, 32), "tgt": torch.randn(batch, out, 32)},
        dims={"batch": (2, 1, 3), "seq": (6, 4, 9), "out": (5, 7, 3)},
        axes={"src": {0: "batch", 1: "seq"}, "tgt": {0: "batch", 1: "out"}},
    )


@family("torch_encoder_masked")
def torch_encoder_masked():
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, norm_first=True)
            self.net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x):
            n = x.shape[1]
            return self.net(x, mask=nn.Transformer.generate_square_subsequent_mask(n), is_causal=True)

    return Case(
        Encoder().eval(),
        inputs=lambda batch, seq: {"x": torch.randn(batch, seq, 32)},
        dims=SEQUENCES,
        axes={"x": {0: "batch", 1: "seq"}},
    )


# Sound.


def sound(model, name="input_values", pick=first, samples=(1600, 2000, 1234)):
    return Case(
        model.eval(),
        inputs=lambda batch, samples: {name: torch.randn(batch, samples)},
        dims={"batch": (2, 1, 3), "samples": samples},
        axes={name: {0: "batch", 1: "samples"}},
        pick=pick,
    )


SPEECH = dict(
    vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, conv_dim=(16, 16, 16),
    conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, num_feat_extract_layers=3,
)
family("wav2vec2", listed=True)(lambda: sound(tf.Wav2Vec2ForCTC(tf.Wav2Vec2Config(**SPEECH))))
family("hubert")(lambda: sound(tf.HubertForCTC(tf.HubertConfig(**SPEECH))))
family("wavlm")(lambda: sound(tf.WavLMForCTC(tf.WavLMConfig(**SPEECH, num_buckets=16, max_bucket_distance=40))))
family("data2vec_audio")(lambda: sound(tf.Data2VecAudioForCTC(tf.Data2VecAudioConfig(**SPEECH))))
family("sew")(lambda: sound(tf.SEWForCTC(tf.SEWConfig(**SPEECH, squeeze_factor=2))))
family("unispeech")(lambda: sound(tf.UniSpeechForCTC(tf.UniSpeechConfig(**SPEECH))))


@family("whisper", listed=True)
def whisper():
    config = tf.WhisperConfig(
        vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=20, max_target_positions=32, use_cache=False,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )
    return Case(
        tf.WhisperForConditionalGeneration(config).eval(),
        inputs=lambda batch, out: {
            "input_features": torch.randn(batch, 16, 40), "decoder_input_ids": words(batch, out), "decoder_attention_mask": masked(batch, out),
        },
        dims={"batch": (2, 1, 3), "out": (5, 8, 3)},
        axes={"input_features": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "out"}, "decoder_attention_mask": {0: "batch", 1: "out"}},
        pick=first,
    )


@family("audio_spectrogram_transformer")
def ast():
    config = tf.ASTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_length=64, num_mel_bins=32)
    return Case(
        tf.ASTForAudioClassification(config).eval(),
        inputs=lambda batch: {"input_values": torch.randn(batch, 64, 32)},
        dims={"batch": (2, 1)},
        axes={"input_values": {0: "batch"}},
    )


@family("speecht5")
def speecht5():
    config = tf.SpeechT5Config(
        vocab_size=WORDS, hidden_size=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=64, decoder_layers=2,
        decoder_attention_heads=2, decoder_ffn_dim=64, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, use_cache=False, encoder_max_relative_position=8,
    )
    return Case(
        tf.SpeechT5ForSpeechToText(config).eval(),
        inputs=lambda batch, samples, out: {"input_values": torch.randn(batch, samples), "decoder_input_ids": words(batch, out)},
        dims={"batch": (2, 1), "samples": (800, 1000), "out": (5, 7)},
        axes={"input_values": {0: "batch", 1: "samples"}, "decoder_input_ids": {0: "batch", 1: "out"}},
        pick=first,
    )


# Series.


@family("patchtst")
def patchtst():
    config = tf.PatchTSTConfig(
        num_input_channels=3, context_length=32, patch_length=8, patch_stride=8, prediction_length=6, d_model=16, num_hidden_layers=2,
        num_attention_heads=2, ffn_dim=32, loss="mse",
    )
    return Case(
        tf.PatchTSTForPrediction(config).eval(),
        inputs=lambda batch: {"past_values": torch.randn(batch, 32, 3)},
        dims={"batch": (2, 1)},
        axes={"past_values": {0: "batch"}},
        pick=lambda o: o.prediction_outputs,
    )


def series(config, model):
    config = config(
        prediction_length=4, context_length=12, lags_sequence=[1, 2, 3], num_time_features=2, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, use_cache=False,
    )
    return Case(
        model(config).eval(),
        inputs=lambda batch: {
            "past_values": torch.randn(batch, 15), "past_time_features": torch.randn(batch, 15, 2),
            "past_observed_mask": torch.ones(batch, 15), "future_values": torch.randn(batch, 4), "future_time_features": torch.randn(batch, 4, 2),
        },
        dims={"batch": (2, 1)},
        axes={n: {0: "batch"} for n in ["past_values", "past_time_features", "past_observed_mask", "future_values", "future_time_features"]},
        pick=first,
    )


family("time_series_transformer")(lambda: series(tf.TimeSeriesTransformerConfig, tf.TimeSeriesTransformerModel))
family("informer")(lambda: series(tf.InformerConfig, tf.InformerModel))
family("autoformer")(lambda: series(tf.AutoformerConfig, tf.AutoformerModel))


# Pictures and text.


@family("clip", listed=True)
def clip():
    config = tf.CLIPConfig(
        text_config=dict(**ENCODER, projection_dim=16, eos_token_id=2, bos_token_id=1, pad_token_id=0),
        vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8, projection_dim=16),
        projection_dim=16,
    )
    return Case(
        tf.CLIPModel(config).eval(),
        inputs=lambda texts, images, seq: {
            "input_ids": words(texts, seq), "pixel_values": torch.randn(images, 3, 32, 32), "attention_mask": masked(texts, seq),
        },
        dims={"texts": (3, 1, 2), "images": (2, 3, 1), "seq": (10, 6, 12)},
        axes={"input_ids": {0: "texts", 1: "seq"}, "pixel_values": {0: "images"}, "attention_mask": {0: "texts", 1: "seq"}},
        pick=lambda o: (o.logits_per_image, o.text_embeds, o.image_embeds),
    )


@family("siglip")
def siglip():
    config = tf.SiglipConfig(
        text_config=dict(**ENCODER, projection_size=32, pad_token_id=0, bos_token_id=1, eos_token_id=2),
        vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8),
    )
    return Case(
        tf.SiglipModel(config).eval(),
        inputs=lambda texts, images: {"input_ids": words(texts, 10), "pixel_values": torch.randn(images, 3, 32, 32)},
        dims={"texts": (3, 1, 2), "images": (2, 3, 1)},
        axes={"input_ids": {0: "texts"}, "pixel_values": {0: "images"}},
        pick=lambda o: (o.logits_per_image, o.text_embeds, o.image_embeds),
    )


@family("blip")
def blip():
    config = tf.BlipConfig(
        text_config=dict(**ENCODER, encoder_hidden_size=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, sep_token_id=2, projection_dim=16),
        vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8),
        projection_dim=16,
    )
    return Case(
        tf.BlipForImageTextRetrieval(config).eval(),
        inputs=lambda batch, seq: {"input_ids": words(batch, seq), "pixel_values": torch.randn(batch, 3, 32, 32), "attention_mask": masked(batch, seq)},
        dims={"batch": (2, 1, 3), "seq": (10, 6, 12)},
        axes={"input_ids": {0: "batch", 1: "seq"}, "pixel_values": {0: "batch"}, "attention_mask": {0: "batch", 1: "seq"}},
        pick=first,
    )


@family("trocr")
def trocr():
    vision = tf.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8)
    decoder = tf.TrOCRConfig(
        vocab_size=WORDS, d_model=32, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=64, max_position_embeddings=32,
        cross_attention_hidden_size=32, use_cache=False,
    )
    net = tf.VisionEncoderDecoderModel(encoder=tf.ViTModel(vision), decoder=tf.TrOCRForCausalLM(decoder))
    return Case(
        net.eval(),
        inputs=lambda batch, out: {"pixel_values": torch.randn(batch, 3, 32, 32), "decoder_input_ids": words(batch, out)},
        dims={"batch": (2, 1, 3), "out": (5, 8, 3)},
        axes={"pixel_values": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "out"}},
        pick=first,
    )
