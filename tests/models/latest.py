"""More of transformers: encoders and decoders of several kinds, matchers of pictures, detectors, texts beside pictures."""

import torch
import transformers as tf

from audio import mels, waves
from case import Case, family
from dense import BACKBONE, DETR, awake, boxes, stages
from further import VIT, pictures
from language import DECODER, ENCODER, SEQ2SEQ, T5, WORDS, decoder, encoder, first, masked, two_texts, words

MOE = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)
IDS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)

decoder("ernie4_5", "Ernie4_5Config", "Ernie4_5ForCausalLM")
decoder("ernie4_5_moe", "Ernie4_5_MoeConfig", "Ernie4_5_MoeForCausalLM", moe_num_experts=4, moe_k=2, moe_intermediate_size=16, moe_num_shared_experts=1, moe_layer_start_index=1)
decoder("glm4_moe", "Glm4MoeConfig", "Glm4MoeForCausalLM", n_routed_experts=4, n_group=2, topk_group=1, num_experts_per_tok=2, moe_intermediate_size=16, first_k_dense_replace=1, n_shared_experts=1, use_qk_norm=True)
decoder("dots1", "Dots1Config", "Dots1ForCausalLM", n_routed_experts=4, n_group=2, topk_group=1, num_experts_per_tok=2, moe_intermediate_size=16, first_k_dense_replace=1, n_shared_experts=1)
decoder("hunyuan_dense", "HunYuanDenseV1Config", "HunYuanDenseV1ForCausalLM", **IDS)
decoder("hunyuan_moe", "HunYuanMoEV1Config", "HunYuanMoEV1ForCausalLM", num_experts=4, moe_topk=2, **IDS)
decoder("olmo3", "Olmo3Config", "Olmo3ForCausalLM", sliding_window=4, pad_token_id=0, eos_token_id=1)
decoder("flex_olmo", "FlexOlmoConfig", "FlexOlmoForCausalLM", num_experts=4, num_experts_per_tok=2, **IDS)
decoder("granite_moe_shared", "GraniteMoeSharedConfig", "GraniteMoeSharedForCausalLM", num_local_experts=4, shared_intermediate_size=16)
decoder("ministral", "MinistralConfig", "MinistralForCausalLM", sliding_window=4)
decoder("vault_gemma", "VaultGemmaConfig", "VaultGemmaForCausalLM", sliding_window=4)
decoder("minimax_m2", "MiniMaxM2Config", "MiniMaxM2ForCausalLM", num_local_experts=4, num_experts_per_tok=2)
decoder("afmoe", "AfmoeConfig", "AfmoeForCausalLM", num_dense_layers=1, **MOE)
decoder("gpt_neox_japanese", "GPTNeoXJapaneseConfig", "GPTNeoXJapaneseForCausalLM", base=dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=64), intermediate_multiple_size=2)
decoder("llama4", "Llama4TextConfig", "Llama4ForCausalLM", intermediate_size_mlp=64, num_local_experts=4, num_experts_per_tok=1, attention_chunk_size=8)
decoder("modernbert_decoder", "ModernBertDecoderConfig", "ModernBertDecoderForCausalLM", base=ENCODER, local_attention=4, **IDS, cls_token_id=1, sep_token_id=2)
decoder("zamba", "ZambaConfig", "ZambaForCausalLM", dims={"batch": (2, 1), "seq": (12, 12)}, mamba_d_state=8, mamba_dt_rank=4, n_mamba_heads=2, num_hidden_layers=3, attn_layer_period=2, attn_layer_offset=1, attention_hidden_size=64, attention_head_dim=32, use_mamba_kernels=False)
decoder("jais2", "Jais2Config", "Jais2ForCausalLM")
decoder("cwm", "CwmConfig", "CwmForCausalLM", sliding_window=4, **IDS)
decoder("exaone_moe", "ExaoneMoeConfig", "ExaoneMoeForCausalLM", n_group=2, topk_group=1, first_k_dense_replace=1, sliding_window=4, num_shared_experts=1, **MOE)
decoder("youtu", "YoutuConfig", "YoutuForCausalLM", num_key_value_heads=2, kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8)
decoder("mistral4", "Mistral4Config", "Mistral4ForCausalLM")
decoder("zaya", "ZayaConfig", "ZayaForCausalLM")

encoder("roc_bert", "RoCBertConfig", "RoCBertModel", pronunciation_vocab_size=WORDS, shape_vocab_size=WORDS, pronunciation_embed_dim=8, shape_embed_dim=8)
encoder("tapas", "TapasConfig", "TapasModel", pad_token_id=0)
encoder("xlm_roberta_xl", "XLMRobertaXLConfig", "XLMRobertaXLForMaskedLM", pad_token_id=1)
encoder("gte", "GteConfig", "GteModel", pad_token_id=0)
encoder("jina_v3", "JinaEmbeddingsV3Config", "JinaEmbeddingsV3Model", pad_token_id=1)
encoder("camembert", "CamembertConfig", "CamembertForQuestionAnswering", pad_token_id=1)
encoder("data2vec_text", "Data2VecTextConfig", "Data2VecTextForMaskedLM", pad_token_id=1)
encoder("dpr", "DPRConfig", "DPRQuestionEncoder")

family("fsmt")(lambda: two_texts(tf.FSMTForConditionalGeneration(tf.FSMTConfig(
    langs=["en", "de"], src_vocab_size=WORDS, tgt_vocab_size=WORDS, **{k: v for k, v in SEQ2SEQ.items() if k not in ("vocab_size", "use_cache")}, use_cache=False,
))))
family("mvp")(lambda: two_texts(tf.MvpForConditionalGeneration(tf.MvpConfig(**SEQ2SEQ))))
family("pegasus_x")(lambda: two_texts(tf.PegasusXForConditionalGeneration(tf.PegasusXConfig(**SEQ2SEQ, block_size=4, num_global_tokens=4))))
family("big_bird_pegasus")(lambda: two_texts(tf.BigBirdPegasusForConditionalGeneration(tf.BigBirdPegasusConfig(**SEQ2SEQ, attention_type="original_full"))))
family("nllb_moe")(lambda: two_texts(tf.NllbMoeForConditionalGeneration(tf.NllbMoeConfig(**SEQ2SEQ, num_experts=2, expert_capacity=64, encoder_sparse_step=2, decoder_sparse_step=2))))
family("t5gemma")(lambda: two_texts(tf.T5GemmaForConditionalGeneration(tf.T5GemmaConfig(
    encoder=dict(**DECODER, sliding_window=4), decoder=dict(**DECODER, sliding_window=4, use_cache=False), **IDS,
))))
family("pop2piano")(lambda: two_texts(tf.Pop2PianoForConditionalGeneration(tf.Pop2PianoConfig(**T5))))
family("udop")(lambda: Case(
    tf.UdopEncoderModel(tf.UdopConfig(**{k: v for k, v in T5.items() if k != "use_cache"}, image_size=32, patch_size=8, max_2d_position_embeddings=64)).eval(),
    inputs=lambda batch, seq: {"input_ids": words(batch, seq), "bbox": torch.rand(batch, seq, 4), "pixel_values": torch.randn(batch, 3, 32, 32)},
    dims={"batch": (2, 1), "seq": (10, 7)}, axes={"input_ids": {0: "batch", 1: "seq"}, "bbox": {0: "batch", 1: "seq"}, "pixel_values": {0: "batch"}}, pick=first,
))

TEXT = {k: v for k, v in ENCODER.items()}
SEES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8)


def seen_and_read(model, pick, side=32, ids=True):
    return Case(
        model.eval(),
        inputs=lambda batch, seq: {"input_ids": words(batch, seq), "attention_mask": masked(batch, seq), "pixel_values": torch.randn(batch, 3, side, side)},
        dims={"batch": (2, 1), "seq": (9, 6)},
        axes={"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}, "pixel_values": {0: "batch"}}, pick=pick,
    )


family("altclip")(lambda: seen_and_read(tf.AltCLIPModel(tf.AltCLIPConfig(text_config=dict(**TEXT, project_dim=16, pad_token_id=1), vision_config=SEES, projection_dim=16)), lambda o: (o.logits_per_image, o.text_embeds)))
family("align")(lambda: seen_and_read(tf.AlignModel(tf.AlignConfig(text_config=TEXT, vision_config=dict(image_size=32, width_coefficient=0.2, depth_coefficient=0.2, hidden_dim=32, depth_divisor=8), projection_dim=32)), lambda o: (o.text_embeds,)))
family("flava")(lambda: seen_and_read(tf.FlavaModel(tf.FlavaConfig(text_config=dict(**TEXT), image_config=SEES, multimodal_config=dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64), hidden_size=32, projection_dim=16)), lambda o: (o.image_embeddings, o.text_embeddings, o.multimodal_embeddings)))
family("metaclip_2")(lambda: seen_and_read(tf.MetaClip2Model(tf.MetaClip2Config(text_config=dict(**TEXT, eos_token_id=2), vision_config=SEES, projection_dim=16)), lambda o: (o.logits_per_image,)))
family("mlcd")(lambda: pictures(tf.MLCDVisionModel(tf.MLCDVisionConfig(**SEES, num_key_value_groups=1))))
family("blip_2_q_former")(lambda: Case(
    tf.Blip2QFormerModel(tf.Blip2QFormerConfig(**TEXT, encoder_hidden_size=24, cross_attention_frequency=2)).eval(),
    inputs=lambda batch: {"query_embeds": torch.randn(batch, 5, 32), "encoder_hidden_states": torch.randn(batch, 9, 24)},
    dims={"batch": (2, 1)}, axes={"query_embeds": {0: "batch"}, "encoder_hidden_states": {0: "batch"}}, pick=first,
))
family("rt_detr_v2")(lambda: Case(
    tf.RTDetrV2ForObjectDetection(tf.RTDetrV2Config(
        backbone_config=tf.RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage2", "stage3", "stage4"]), encoder_hidden_dim=32, encoder_in_channels=[16, 16, 16],
        encoder_ffn_dim=32, d_model=32, decoder_in_channels=[32, 32, 32], decoder_ffn_dim=32, decoder_layers=1, decoder_attention_heads=2, encoder_attention_heads=2, num_queries=60, num_denoising=0, num_labels=3,
    )).eval(), inputs=lambda: {"pixel_values": torch.randn(1, 3, 64, 64)}, pick=boxes, atol=1e-3,
))
family("lw_detr")(lambda: pictures(tf.LwDetrForObjectDetection(tf.LwDetrConfig(
    backbone_config=tf.LwDetrViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=64, pretrain_image_size=64, patch_size=8, out_features=["stage1", "stage2"], window_block_indices=[0], num_windows=4),
    d_model=32, decoder_layers=1, decoder_self_attention_heads=2, decoder_cross_attention_heads=2, decoder_ffn_dim=32, num_queries=5, group_detr=1, num_labels=3, hidden_expansion=0.5, c2f_num_blocks=1, num_feature_levels=1,
)), side=64, pick=boxes))
family("owlv2_vision")(lambda: pictures(tf.Owlv2VisionModel(tf.Owlv2VisionConfig(**SEES))))
family("sam2_vision")(lambda: pictures(tf.Sam2VisionModel(tf.Sam2VisionConfig(
    backbone_config=dict(hidden_size=8, num_attention_heads=1, image_size=[64, 64], blocks_per_stage=[1, 1, 1, 1], embed_dim_per_stage=[8, 16, 16, 32], num_attention_heads_per_stage=[1, 2, 2, 2], window_size_per_stage=[4, 4, 4, 2], global_attention_blocks=[2],
                         window_positional_embedding_background_size=[2, 2]),
    backbone_channel_list=[32, 16, 16, 8], backbone_feature_sizes=[[16, 16], [8, 8], [4, 4]], fpn_hidden_size=16,
)), side=64))
family("prompt_depth_anything")(lambda: Case(
    tf.PromptDepthAnythingForDepthEstimation(tf.PromptDepthAnythingConfig(
        backbone_config=tf.Dinov2Config(hidden_size=32, num_hidden_layers=4, num_attention_heads=2, image_size=28, patch_size=7, out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False, apply_layernorm=True),
        reassemble_hidden_size=32, patch_size=7, neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=8, head_hidden_size=8,
    )).eval(), inputs=lambda: {"pixel_values": torch.randn(1, 3, 28, 28), "prompt_depth": torch.rand(1, 1, 6, 6)}, pick=first,
))
family("layoutlm_tokens")(lambda: Case(
    tf.LayoutLMForTokenClassification(tf.LayoutLMConfig(**ENCODER, max_2d_position_embeddings=32)).eval(),
    inputs=lambda batch, seq: {"input_ids": words(batch, seq), "bbox": torch.randint(0, 8, (batch, seq, 2)).repeat(1, 1, 2).cumsum(-1)},
    dims={"batch": (2, 1), "seq": (9, 6)}, axes={n: {0: "batch", 1: "seq"} for n in ("input_ids", "bbox")}, pick=first,
))
family("x_clip_vision")(lambda: pictures(tf.XCLIPVisionModel(tf.XCLIPVisionConfig(**SEES, mit_hidden_size=32, mit_intermediate_size=32, mit_num_hidden_layers=1, mit_num_attention_heads=2, num_frames=2)), batch=(2, 4), pick=first))
family("patchtst_channels")(lambda: Case(
    tf.PatchTSTForPrediction(tf.PatchTSTConfig(
        num_input_channels=2, context_length=24, patch_length=4, patch_stride=4, d_model=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=32, prediction_length=5, do_mask_input=False, channel_attention=True,
    )).eval(), inputs=lambda batch: {"past_values": torch.randn(batch, 24, 2)}, dims={"batch": (2, 1)}, axes={"past_values": {0: "batch"}}, pick=lambda o: (o.prediction_outputs,),
))
family("qwen2_audio_encoder")(lambda: Case(
    tf.Qwen2AudioEncoder(tf.Qwen2AudioEncoderConfig(num_mel_bins=16, d_model=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=64, max_source_positions=20)).eval(),
    inputs=lambda batch: {"input_features": torch.randn(batch, 16, 40)}, dims={"batch": (2, 1)}, axes={"input_features": {0: "batch"}}, pick=first,
))
family("seamless_speech")(lambda: Case(
    tf.SeamlessM4Tv2SpeechEncoder(tf.SeamlessM4Tv2Config(
        hidden_size=32, speech_encoder_layers=1, speech_encoder_attention_heads=2, speech_encoder_intermediate_size=32, feature_projection_input_dim=16, num_adapter_layers=1, adaptor_kernel_size=4, adaptor_stride=4, conv_depthwise_kernel_size=3,
        left_max_position_embeddings=4, right_max_position_embeddings=2, speech_encoder_chunk_size=8, speech_encoder_left_chunk_num=2,
    )).eval(), inputs=lambda batch, steps: {"input_features": torch.randn(batch, steps, 16)}, dims={"batch": (2, 1), "steps": (24, 17)}, axes={"input_features": {0: "batch", 1: "steps"}}, pick=first,
))
family("pixtral_vision")(lambda: Case(
    tf.PixtralVisionModel(tf.PixtralVisionConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8, head_dim=16)).eval(),
    inputs=lambda: {"pixel_values": torch.randn(1, 3, 32, 32)}, pick=first,
))
family("segformer_open")(lambda: Case(
    tf.SegformerForSemanticSegmentation(tf.SegformerConfig(hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16)).eval(),
    inputs=lambda batch, high, wide: {"pixel_values": torch.randn(batch, 3, high, wide)}, dims={"batch": (2, 1), "high": (64, 96), "wide": (96, 64)}, axes={"pixel_values": {0: "batch", 2: "high", 3: "wide"}}, pick=first,
))
