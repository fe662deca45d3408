"""More of transformers: experts and windows of several kinds, texts beside pictures, tables, encoders of sound and of pictures of any size."""

import torch
import transformers as tf

from case import Case, family
from further import pictures
from language import DECODER, ENCODER, T5, WORDS, decoder, encoder, first, masked, two_texts, words

IDS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)
SEES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8)

decoder("ernie4_5", "Ernie4_5Config", "Ernie4_5ForCausalLM")
decoder("glm4_moe", "Glm4MoeConfig", "Glm4MoeForCausalLM", n_routed_experts=4, n_group=2, topk_group=1, num_experts_per_tok=2, moe_intermediate_size=16, first_k_dense_replace=1, n_shared_experts=1, use_qk_norm=True)
decoder("dots1", "Dots1Config", "Dots1ForCausalLM", n_routed_experts=4, n_group=2, topk_group=1, num_experts_per_tok=2, moe_intermediate_size=16, first_k_dense_replace=1, n_shared_experts=1)
decoder("hunyuan_dense", "HunYuanDenseV1Config", "HunYuanDenseV1ForCausalLM", **IDS)
decoder("olmo3", "Olmo3Config", "Olmo3ForCausalLM", sliding_window=4, pad_token_id=0, eos_token_id=1)
decoder("flex_olmo", "FlexOlmoConfig", "FlexOlmoForCausalLM", num_experts=4, num_experts_per_tok=2, **IDS)
decoder("granite_moe_shared", "GraniteMoeSharedConfig", "GraniteMoeSharedForCausalLM", num_local_experts=4, shared_intermediate_size=16)
decoder("ministral", "MinistralConfig", "MinistralForCausalLM", sliding_window=4)
decoder("vault_gemma", "VaultGemmaConfig", "VaultGemmaForCausalLM", sliding_window=4)
decoder("zaya", "ZayaConfig", "ZayaForCausalLM")

encoder("roc_bert", "RoCBertConfig", "RoCBertModel", pronunciation_vocab_size=WORDS, shape_vocab_size=WORDS, pronunciation_embed_dim=8, shape_embed_dim=8)
encoder("tapas", "TapasConfig", "TapasModel", pad_token_id=0)
encoder("gte", "GteConfig", "GteModel", pad_token_id=0)

family("t5gemma")(lambda: two_texts(tf.T5GemmaForConditionalGeneration(tf.T5GemmaConfig(
    encoder=dict(**DECODER, sliding_window=4), decoder=dict(**DECODER, sliding_window=4, use_cache=False), **IDS,
))))
family("pop2piano")(lambda: two_texts(tf.Pop2PianoForConditionalGeneration(tf.Pop2PianoConfig(**T5))))


def seen_and_read(model, pick):
    return Case(
        model.eval(),
        inputs=lambda batch, seq: {"input_ids": words(batch, seq), "attention_mask": masked(batch, seq), "pixel_values": torch.randn(batch, 3, 32, 32)},
        dims={"batch": (2, 1), "seq": (9, 6)},
        axes={"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}, "pixel_values": {0: "batch"}}, pick=pick,
    )


family("altclip")(lambda: seen_and_read(
    tf.AltCLIPModel(tf.AltCLIPConfig(text_config=dict(**ENCODER, project_dim=16, pad_token_id=1), vision_config=SEES, projection_dim=16)), lambda o: (o.logits_per_image, o.text_embeds),
))
family("flava")(lambda: seen_and_read(tf.FlavaModel(tf.FlavaConfig(
    text_config=dict(**ENCODER), image_config=SEES, multimodal_config=dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64), hidden_size=32, projection_dim=16,
)), lambda o: (o.image_embeddings, o.text_embeddings, o.multimodal_embeddings)))
family("blip_2_q_former")(lambda: Case(
    tf.Blip2QFormerModel(tf.Blip2QFormerConfig(**ENCODER, encoder_hidden_size=24, cross_attention_frequency=2)).eval(),
    inputs=lambda batch: {"query_embeds": torch.randn(batch, 5, 32), "encoder_hidden_states": torch.randn(batch, 9, 24)},
    dims={"batch": (2, 1)}, axes={"query_embeds": {0: "batch"}, "encoder_hidden_states": {0: "batch"}}, pick=first,
))
family("x_clip_vision")(lambda: pictures(tf.XCLIPVisionModel(tf.XCLIPVisionConfig(
    **SEES, mit_hidden_size=32, mit_intermediate_size=32, mit_num_hidden_layers=1, mit_num_attention_heads=2, num_frames=2,
)), batch=(2, 4), pick=first))
family("qwen2_audio_encoder")(lambda: Case(
    tf.Qwen2AudioEncoder(tf.Qwen2AudioEncoderConfig(num_mel_bins=16, d_model=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=64, max_source_positions=20)).eval(),
    inputs=lambda batch: {"input_features": torch.randn(batch, 16, 40)}, dims={"batch": (2, 1)}, axes={"input_features": {0: "batch"}}, pick=first,
))
family("pixtral_vision")(lambda: Case(
    tf.PixtralVisionModel(tf.PixtralVisionConfig(**SEES, head_dim=16)).eval(), inputs=lambda: {"pixel_values": torch.randn(1, 3, 32, 32)}, pick=first,
))
family("segformer_open")(lambda: Case(
    tf.SegformerForSemanticSegmentation(tf.SegformerConfig(hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16)).eval(),
    inputs=lambda batch, high, wide: {"pixel_values": torch.randn(batch, 3, high, wide)}, dims={"batch": (2, 1), "high": (64, 96), "wide": (96, 64)},
    axes={"pixel_values": {0: "batch", 2: "high", 3: "wide"}}, pick=first,
))
