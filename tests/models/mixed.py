"""More networks from transformers: texts and pages, sound and series, and several kinds at once."""

import torch
import transformers as tf

from case import Case, family
from language import DECODER, ENCODER, SEQ2SEQ, SPEECH, T5, WORDS, decoder, encoder, first, masked, sound, text, two_texts, words

VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8)

# Texts.

encoder("ernie", "ErnieConfig", "ErnieForMaskedLM")
encoder("megatron_bert", "MegatronBertConfig", "MegatronBertForMaskedLM")
encoder("rembert", "RemBertConfig", "RemBertForMaskedLM", input_embedding_size=16, output_embedding_size=16)
encoder("splinter", "SplinterConfig", "SplinterModel")
encoder("lilt", "LiltConfig", "LiltForTokenClassification", hidden_size=48, pad_token_id=1, max_2d_position_embeddings=64, channel_shrink_ratio=2)
encoder("layoutlm", "LayoutLMConfig", "LayoutLMForTokenClassification", max_2d_position_embeddings=64)
encoder("yoso", "YosoConfig", "YosoForMaskedLM", use_expectation=True)
encoder("flaubert", "FlaubertConfig", "FlaubertWithLMHeadModel", emb_dim=32, n_layers=2, n_heads=2, n_words=WORDS)
encoder("xlm", "XLMConfig", "XLMWithLMHeadModel", emb_dim=32, n_layers=2, n_heads=2, n_words=WORDS)
encoder("eurobert", "EuroBertConfig", "EuroBertForMaskedLM", num_key_value_heads=1, pad_token_id=0, bos_token_id=1, eos_token_id=2, mask_token_id=3)

decoder("olmo", "OlmoConfig", "OlmoForCausalLM", clip_qkv=8.0)
decoder("nemotron", "NemotronConfig", "NemotronForCausalLM")
decoder("persimmon", "PersimmonConfig", "PersimmonForCausalLM")
decoder("glm", "GlmConfig", "GlmForCausalLM", pad_token_id=0)
decoder("helium", "HeliumConfig", "HeliumForCausalLM")
decoder("smollm3", "SmolLM3Config", "SmolLM3ForCausalLM", pad_token_id=0)
decoder("diffllama", "DiffLlamaConfig", "DiffLlamaForCausalLM", num_key_value_heads=2)
decoder("bitnet", "BitNetConfig", "BitNetForCausalLM")
decoder("cohere2", "Cohere2Config", "Cohere2ForCausalLM", pad_token_id=0, bos_token_id=1, eos_token_id=2, sliding_window=4)
decoder("olmoe", "OlmoeConfig", "OlmoeForCausalLM", num_experts=4, num_experts_per_tok=2)
decoder("granite_moe", "GraniteMoeConfig", "GraniteMoeForCausalLM", num_local_experts=4, num_experts_per_tok=2)
decoder("qwen3_moe", "Qwen3MoeConfig", "Qwen3MoeForCausalLM", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32)
decoder("deepseek_v2", "DeepseekV2Config", "DeepseekV2ForCausalLM", num_key_value_heads=2, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1, moe_intermediate_size=32, first_k_dense_replace=1, kv_lora_rank=16, q_lora_rank=16, head_dim=8, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16)
decoder("gpt_bigcode", "GPTBigCodeConfig", "GPTBigCodeForCausalLM", base={}, vocab_size=WORDS, n_embd=32, n_layer=2, n_head=2, n_positions=64)
decoder("biogpt", "BioGptConfig", "BioGptForCausalLM", base=ENCODER)
decoder("openai_gpt", "OpenAIGPTConfig", "OpenAIGPTLMHeadModel", base={}, vocab_size=WORDS, n_embd=32, n_layer=2, n_head=2, n_positions=64)
decoder("lfm2", "Lfm2Config", "Lfm2ForCausalLM", layer_types=["conv", "full_attention"], conv_L_cache=3, block_multiple_of=16)

family("mbart")(lambda: two_texts(tf.MBartForConditionalGeneration(tf.MBartConfig(**SEQ2SEQ))))
family("plbart")(lambda: two_texts(tf.PLBartForConditionalGeneration(tf.PLBartConfig(**SEQ2SEQ))))
family("umt5")(lambda: two_texts(tf.UMT5ForConditionalGeneration(tf.UMT5Config(**T5))))
family("led")(
    lambda: two_texts(tf.LEDForConditionalGeneration(tf.LEDConfig(**{k: v for k, v in SEQ2SEQ.items() if k != "max_position_embeddings"}, attention_window=4, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64)))
)
family("prophetnet")(
    lambda: two_texts(tf.ProphetNetForConditionalGeneration(tf.ProphetNetConfig(
        vocab_size=WORDS, hidden_size=32, encoder_ffn_dim=64, num_encoder_layers=2, num_encoder_attention_heads=2, decoder_ffn_dim=64,
        num_decoder_layers=2, num_decoder_attention_heads=2, max_position_embeddings=64, use_cache=False, ngram=2, num_buckets=8,
    )))
)


@family("layoutlm_v3")
def layoutlm_v3():
    config = tf.LayoutLMv3Config(
        **ENCODER, pad_token_id=1, max_2d_position_embeddings=64, coordinate_size=4, shape_size=8, input_size=32, patch_size=8, rel_pos_bins=8,
        max_rel_pos=16, rel_2d_pos_bins=8, max_rel_2d_pos=16,
    )
    def inputs(batch, seq):
        corners = torch.randint(0, 30, (batch, seq, 2))
        return {"input_ids": words(batch, seq), "bbox": torch.cat([corners, corners + torch.randint(1, 30, (batch, seq, 2))], -1), "attention_mask": masked(batch, seq), "pixel_values": torch.randn(batch, 3, 32, 32)}
    return Case(
        tf.LayoutLMv3ForTokenClassification(config).eval(), inputs=inputs, dims={"batch": (2, 1, 3), "seq": (12, 7, 16)},
        axes={"input_ids": {0: "batch", 1: "seq"}, "bbox": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}, "pixel_values": {0: "batch"}},
        pick=first,
    )


# Sound and series.

family("wav2vec2_conformer")(lambda: sound(tf.Wav2Vec2ConformerForCTC(tf.Wav2Vec2ConformerConfig(**SPEECH, position_embeddings_type="rotary", conv_depthwise_kernel_size=7))))
family("wav2vec2_conformer_relative")(lambda: sound(tf.Wav2Vec2ConformerForCTC(tf.Wav2Vec2ConformerConfig(**SPEECH, position_embeddings_type="relative", conv_depthwise_kernel_size=7))))
family("unispeech_sat")(lambda: sound(tf.UniSpeechSatForCTC(tf.UniSpeechSatConfig(**SPEECH))))
family("wav2vec2_xvector")(lambda: sound(tf.Wav2Vec2ForXVector(tf.Wav2Vec2Config(**SPEECH, tdnn_dim=(16, 16, 24), tdnn_kernel=(5, 3, 1), tdnn_dilation=(1, 2, 1), xvector_output_dim=16))))


@family("speech_to_text")
def speech_to_text():
    config = tf.Speech2TextConfig(
        vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64,
        decoder_ffn_dim=64, max_source_positions=100, max_target_positions=32, input_feat_per_channel=16, conv_channels=32, use_cache=False,
    )
    return Case(
        tf.Speech2TextForConditionalGeneration(config).eval(),
        inputs=lambda batch, time, out: {"input_features": torch.randn(batch, time, 16), "decoder_input_ids": words(batch, out)},
        dims={"batch": (2, 1, 3), "time": (40, 32, 52), "out": (5, 8, 3)},
        axes={"input_features": {0: "batch", 1: "time"}, "decoder_input_ids": {0: "batch", 1: "out"}},
        pick=first,
    )


@family("wav2vec2_bert")
def wav2vec2_bert():
    config = tf.Wav2Vec2BertConfig(
        vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, feature_projection_input_dim=16,
        left_max_position_embeddings=8, right_max_position_embeddings=4, conv_depthwise_kernel_size=5, add_adapter=False,
    )
    return Case(
        tf.Wav2Vec2BertForCTC(config).eval(),
        inputs=lambda batch, time: {"input_features": torch.randn(batch, time, 16)},
        dims={"batch": (2, 1, 3), "time": (20, 13, 31)},
        axes={"input_features": {0: "batch", 1: "time"}},
        pick=first,
    )


@family("moonshine")
def moonshine():
    config = tf.MoonshineConfig(
        vocab_size=WORDS, hidden_size=32, intermediate_size=64, encoder_num_hidden_layers=2, decoder_num_hidden_layers=2, encoder_num_attention_heads=2,
        decoder_num_attention_heads=2, use_cache=False, pad_token_id=0,
    )
    return Case(
        tf.MoonshineForConditionalGeneration(config).eval(),
        inputs=lambda batch, out: {"input_values": torch.randn(batch, 4000), "decoder_input_ids": words(batch, out)},
        dims={"batch": (2, 1), "out": (5, 8)},
        axes={"input_values": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "out"}},
        pick=first,
    )


@family("encodec")
def encodec():
    config = tf.EncodecConfig(num_filters=4, upsampling_ratios=[4, 2], codebook_size=16, codebook_dim=8, hidden_size=8, num_lstm_layers=1, target_bandwidths=[24.0])
    return Case(
        tf.EncodecModel(config).eval(), inputs=lambda **_: {"input_values": torch.randn(1, 1, 320)}, pick=lambda o: o.audio_values,
    )


@family("patch_mixer")
def patch_mixer():
    config = tf.PatchTSMixerConfig(context_length=32, patch_length=8, patch_stride=8, num_input_channels=3, prediction_length=6, d_model=16, num_layers=2)
    return Case(
        tf.PatchTSMixerForPrediction(config).eval(), inputs=lambda batch: {"past_values": torch.randn(batch, 32, 3)}, dims={"batch": (2, 1)},
        axes={"past_values": {0: "batch"}}, pick=lambda o: o.prediction_outputs,
    )


# Several kinds at once.


def seen(model, side=32, extra=None, pick=first, dims=None):
    """A text and a picture."""
    def inputs(batch, seq):
        return {"input_ids": words(batch, seq), "attention_mask": masked(batch, seq), "pixel_values": torch.randn(batch, 3, side, side)}
    return Case(
        model.eval(), inputs=inputs, dims=dims or {"batch": (2, 1, 3), "seq": (10, 6, 12)},
        axes={"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}, "pixel_values": {0: "batch"}}, pick=pick,
    )


@family("vilt")
def vilt():
    config = tf.ViltConfig(**ENCODER, image_size=32, patch_size=8, num_labels=3)
    return seen(tf.ViltForQuestionAnswering(config), dims={"batch": (2, 1), "seq": (10, 10)})


@family("git")
def git():
    config = tf.GitConfig(vision_config=VISION, **ENCODER, num_image_with_embedding=None, use_cache=False, bos_token_id=1, eos_token_id=2)
    return seen(tf.GitForCausalLM(config), dims={"batch": (2, 1), "seq": (10, 8)})


@family("clipseg")
def clipseg():
    config = tf.CLIPSegConfig(
        text_config=dict(**ENCODER, eos_token_id=2, bos_token_id=1, pad_token_id=0), vision_config=dict(VISION, num_hidden_layers=3),
        projection_dim=16, extract_layers=[0, 1, 2], reduce_dim=16, decoder_num_attention_heads=2, decoder_intermediate_size=32, conditional_layer=0,
    )
    return seen(tf.CLIPSegForImageSegmentation(config), pick=lambda o: o.logits)


@family("owlvit")
def owlvit():
    config = tf.OwlViTConfig(
        text_config=dict(**{**ENCODER, "max_position_embeddings": 16}, eos_token_id=2, bos_token_id=1, pad_token_id=0), vision_config=VISION, projection_dim=32,
    )
    return Case(
        tf.OwlViTForObjectDetection(config).eval(),
        inputs=lambda **_: {"input_ids": words(2, 10), "pixel_values": torch.randn(1, 3, 32, 32), "attention_mask": masked(2, 10)},
        pick=lambda o: (o.logits, o.pred_boxes),
    )


@family("bridgetower")
def bridgetower():
    config = tf.BridgeTowerConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=32,
        text_config=dict(**{**ENCODER, "hidden_size": 64}, pad_token_id=1), vision_config=dict(hidden_size=64, num_hidden_layers=3, image_size=32, patch_size=8),
    )
    return seen(tf.BridgeTowerForImageAndTextRetrieval(config), dims={"batch": (2, 1), "seq": (10, 8)})


@family("chinese_clip")
def chinese_clip():
    config = tf.ChineseCLIPConfig(text_config=dict(**ENCODER, pad_token_id=0), vision_config=VISION, projection_dim=16)
    return Case(
        tf.ChineseCLIPModel(config).eval(),
        inputs=lambda texts, images, seq: {"input_ids": words(texts, seq), "pixel_values": torch.randn(images, 3, 32, 32), "attention_mask": masked(texts, seq)},
        dims={"texts": (3, 1, 2), "images": (2, 3, 1), "seq": (10, 6, 12)},
        axes={"input_ids": {0: "texts", 1: "seq"}, "pixel_values": {0: "images"}, "attention_mask": {0: "texts", 1: "seq"}},
        pick=lambda o: (o.logits_per_image, o.text_embeds, o.image_embeds),
    )


@family("pix2struct")
def pix2struct():
    config = tf.Pix2StructConfig(
        text_config=dict(vocab_size=WORDS, hidden_size=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, use_cache=False, decoder_start_token_id=0),
        vision_config=dict(hidden_size=32, patch_embed_hidden_size=24, d_ff=64, d_kv=16, num_hidden_layers=2, num_attention_heads=2, seq_len=16),
    )
    def inputs(batch, out):
        rows, columns = torch.arange(16) // 4 + 1, torch.arange(16) % 4 + 1
        where = torch.stack([rows, columns], -1).float().expand(batch, 16, 2)
        return {"flattened_patches": torch.cat([where, torch.randn(batch, 16, 24)], -1), "attention_mask": masked(batch, 16), "decoder_input_ids": words(batch, out)}
    return Case(
        tf.Pix2StructForConditionalGeneration(config).eval(), inputs=inputs, dims={"batch": (2, 1, 3), "out": (5, 8, 3)},
        axes={"flattened_patches": {0: "batch"}, "attention_mask": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "out"}}, pick=first,
    )


@family("llava")
def llava():
    config = tf.LlavaConfig(
        vision_config=tf.CLIPVisionConfig(**VISION), text_config=tf.LlamaConfig(**DECODER), image_token_index=2, image_seq_length=16,
        vision_feature_layer=-1, vision_feature_select_strategy="default",
    )
    def inputs(batch, seq):
        picture = torch.full((batch, 16), 2)
        return {"input_ids": torch.cat([words(batch, 1), picture, words(batch, seq)], 1), "pixel_values": torch.randn(batch, 3, 32, 32)}
    net = tf.LlavaForConditionalGeneration(config)
    net.config.text_config.use_cache = False
    return Case(
        net.eval(), inputs=inputs, dims={"batch": (2, 1), "seq": (6, 6)}, axes={"input_ids": {0: "batch"}, "pixel_values": {0: "batch"}}, pick=first,
    )
