"""Still more of transformers: decoders with experts of several kinds, encoders of texts, pairs of encoder and decoder, encoders of pictures."""

import torch
import transformers as tf

from case import Case, family
from further import pictures
from language import ENCODER, WORDS, decoder, encoder, first, masked, two_texts, words
from latest import IDS, SEES

EXPERTS = dict(
    num_experts=4, n_routed_experts=4, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, n_shared_experts=1, num_shared_experts=1,
    first_k_dense_replace=1, n_group=1, topk_group=1,
)
TWO = dict(
    vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64,
    decoder_ffn_dim=64, max_position_embeddings=64, use_cache=False, decoder_start_token_id=2, **IDS,
)

decoder("modernbert_decoder", "ModernBertDecoderConfig", "ModernBertDecoderForCausalLM", local_attention=4, sliding_window=4, **IDS)
decoder("exaone_moe", "ExaoneMoeConfig", "ExaoneMoeForCausalLM", **EXPERTS)
decoder("solar_open", "SolarOpenConfig", "SolarOpenForCausalLM", **EXPERTS)
decoder("jais2", "Jais2Config", "Jais2ForCausalLM", **IDS)
decoder("mimo_v2_flash", "MiMoV2FlashConfig", "MiMoV2FlashForCausalLM", sliding_window=4, **EXPERTS)
decoder("gpt_neox_japanese", "GPTNeoXJapaneseConfig", "GPTNeoXJapaneseForCausalLM", **IDS)
decoder("cohere2_moe", "Cohere2MoeConfig", "Cohere2MoeForCausalLM", sliding_window=4, **IDS, **EXPERTS)
decoder("laguna", "LagunaConfig", "LagunaForCausalLM", sliding_window=4, **EXPERTS)

encoder("xlm_roberta_xl", "XLMRobertaXLConfig", "XLMRobertaXLModel", pad_token_id=1)
encoder("camembert", "CamembertConfig", "CamembertModel", pad_token_id=1)
encoder("jina_embeddings_v3", "JinaEmbeddingsV3Config", "JinaEmbeddingsV3Model", pad_token_id=1)
family("dpr")(lambda: Case(
    tf.DPRReader(tf.DPRConfig(**ENCODER)).eval(),
    inputs=lambda batch, seq: {"input_ids": words(batch, seq), "attention_mask": masked(batch, seq)},
    dims={"batch": (2, 1), "seq": (7, 4)}, axes={n: {0: "batch", 1: "seq"} for n in ("input_ids", "attention_mask")},
    pick=lambda o: (o.start_logits, o.relevance_logits),
))

family("blenderbot_small")(lambda: two_texts(tf.BlenderbotSmallForConditionalGeneration(tf.BlenderbotSmallConfig(**TWO))))
family("bigbird_pegasus")(lambda: two_texts(tf.BigBirdPegasusForConditionalGeneration(tf.BigBirdPegasusConfig(**TWO, attention_type="original_full"))))
family("encoder_decoder")(lambda: two_texts(tf.EncoderDecoderModel(tf.EncoderDecoderConfig(
    encoder=tf.BertConfig(**ENCODER).to_dict(), decoder=tf.BertConfig(**ENCODER, is_decoder=True, add_cross_attention=True, use_cache=False).to_dict(),
))))
family("fsmt")(lambda: two_texts(tf.FSMTForConditionalGeneration(tf.FSMTConfig(
    langs=["en", "de"], src_vocab_size=WORDS, tgt_vocab_size=WORDS, **{k: v for k, v in TWO.items() if k != "vocab_size"},
))))

family("mlcd_vision")(lambda: pictures(tf.MLCDVisionModel(tf.MLCDVisionConfig(**SEES))))
family("internvl_vision")(lambda: pictures(tf.InternVLVisionModel(tf.InternVLVisionConfig(**{**SEES, "image_size": [32, 32], "patch_size": [8, 8]}))))
family("idefics2_vision")(lambda: pictures(
    tf.models.idefics2.modeling_idefics2.Idefics2VisionTransformer(tf.models.idefics2.configuration_idefics2.Idefics2VisionConfig(**SEES)),
))
family("vision_encoder_decoder")(lambda: Case(
    tf.VisionEncoderDecoderModel(tf.VisionEncoderDecoderConfig(
        encoder=tf.ViTConfig(**SEES).to_dict(),
        decoder=tf.GPT2Config(vocab_size=WORDS, n_embd=32, n_layer=2, n_head=2, n_positions=64, add_cross_attention=True, use_cache=False).to_dict(),
    )).eval(),
    inputs=lambda batch, seq: {"pixel_values": torch.randn(batch, 3, 32, 32), "decoder_input_ids": words(batch, seq)},
    dims={"batch": (2, 1), "seq": (7, 4)}, axes={"pixel_values": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "seq"}}, pick=first,
))
family("owlv2")(lambda: Case(
    tf.Owlv2Model(tf.Owlv2Config(
        text_config=dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=16, **IDS),
        vision_config=SEES, projection_dim=16,
    )).eval(),
    inputs=lambda batch: {"input_ids": words(batch, 8), "attention_mask": torch.ones(batch, 8, dtype=torch.int64), "pixel_values": torch.randn(batch, 3, 32, 32)},
    dims={"batch": (2, 1)}, axes={n: {0: "batch"} for n in ("input_ids", "attention_mask", "pixel_values")}, pick=lambda o: (o.logits_per_image, o.text_embeds),
))
