"""Networks of 2024 and later from transformers, and some older ones, of kinds that the other files do not have."""

import torch
import transformers as tf

from audio import waves
from case import Case, family, settle
from dense import awake, boxes, loud
from further import VIT, pictures
from language import ENCODER, WORDS, decoder, encoder, first, masked, words

MAMBA = dict(mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=1, mamba_chunk_size=4, mamba_d_conv=4)
LATENT = dict(kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8)
DELTA = dict(linear_conv_kernel_dim=4, linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=2)
# How far the last part of a sequence is filled up stands in the files: both are whole parts.
WHOLE = {"batch": (2, 1), "seq": (12, 8)}
MIXED = ["linear_attention", "full_attention"]

# States beside attention, and linear attention.
decoder(
    "nemotron_h", "NemotronHConfig", "NemotronHForCausalLM", layers_block_type=["mamba", "attention", "mlp", "moe"], num_hidden_layers=4, mamba_num_heads=4,
    mamba_head_dim=16, ssm_state_size=8, n_groups=1, chunk_size=4, dims=WHOLE, n_routed_experts=4, moe_intermediate_size=16, moe_shared_expert_intermediate_size=16,
)
decoder("granite_moe_hybrid", "GraniteMoeHybridConfig", "GraniteMoeHybridForCausalLM", layer_types=["mamba", "attention"], num_local_experts=4, shared_intermediate_size=32, pad_token_id=0, dims=WHOLE, **MAMBA)
decoder("qwen3_5", "Qwen3_5TextConfig", "Qwen3_5ForCausalLM", layer_types=MIXED, **DELTA)
decoder("olmo_hybrid", "OlmoHybridConfig", "OlmoHybridForCausalLM", layer_types=MIXED, pad_token_id=0, eos_token_id=1, **DELTA)
decoder(
    "kimi_linear", "KimiLinearConfig", "KimiLinearForCausalLM", layer_types=MIXED, mlp_layer_types=["dense", "sparse"], num_key_value_heads=2, moe_intermediate_size=16, num_local_experts=4,
    num_experts_per_tok=2, linear_head_dim=8, linear_num_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2, **{**LATENT, "q_lora_rank": None},
)
decoder("lfm2_moe", "Lfm2MoeConfig", "Lfm2MoeForCausalLM", layer_types=["conv", "full_attention"], num_dense_layers=1, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)

# Attention with latent keys, experts that do nothing, embeddings of every layer.
decoder("minicpm3", "MiniCPM3Config", "MiniCPM3ForCausalLM", num_key_value_heads=2, pad_token_id=0, **LATENT)
decoder("longcat_flash", "LongcatFlashConfig", "LongcatFlashForCausalLM", num_layers=1, head_dim=8, num_key_value_heads=2, ffn_hidden_size=32, moe_topk=2, n_routed_experts=4, zero_expert_num=2, expert_ffn_hidden_size=16, **LATENT)
decoder("gemma4", "Gemma4TextConfig", "Gemma4ForCausalLM", vocab_size_per_layer_input=WORDS, hidden_size_per_layer_input=8, sliding_window=4, layer_types=["sliding_attention", "full_attention"])

encoder("esmc", "EsmcConfig", "EsmcForMaskedLM", pad_token_id=1)
encoder("markuplm", "MarkupLMConfig", "MarkupLMModel", max_depth=4, xpath_unit_hidden_size=8)

family("aimv2_vision")(lambda: pictures(tf.Aimv2VisionModel(tf.Aimv2VisionConfig(**VIT))))
family("radio")(lambda: pictures(tf.RadioModel(tf.RadioConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, patch_size=8, image_size=32, max_img_size=64, num_cls_tokens=2, num_registers=2)), pick=first))
family("pp_lcnet")(lambda: pictures(loud(tf.PPLCNetForImageClassification(tf.PPLCNetConfig(scale=0.25, class_expand=32)), 64), side=64))
family("eomt")(lambda: pictures(
    tf.EomtForUniversalSegmentation(tf.EomtConfig(hidden_size=32, num_hidden_layers=3, num_attention_heads=2, image_size=64, patch_size=8, num_blocks=1, num_queries=5, num_register_tokens=1, num_labels=3)),
    side=64, batch=(1, 1), pick=lambda out: (out.masks_queries_logits, out.class_queries_logits),
))
family("uvdoc")(lambda: pictures(awake(tf.UVDocModel(tf.UVDocConfig(bridge_connector=(16, 16), out_point_positions2D=((16, 8), (8, 2)), backbone_config=tf.UVDocBackboneConfig(
    resnet_head=((3, 8), (8, 8)), resnet_configs=(((8, 8, 1, False),), ((8, 8, 1, True),), ((8, 16, 1, True),)), stage_configs=(((16, 1),), ((16, 2),)), out_features=["stage1", "stage2"],
)))), side=64, pick=first))
family("vibevoice_tokenizer")(lambda: waves(
    awake(tf.VibeVoiceAcousticTokenizerModel(tf.VibeVoiceAcousticTokenizerConfig(hidden_size=8, num_filters=4, downsampling_ratios=(2, 4), depths=(1, 1, 1), layer_scale_init_value=1.0, vae_std=0.0))),
    pick=lambda out: out.audio,
))


@family("vitmatte")
def vitmatte():
    backbone = tf.VitDetConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=32, pretrain_image_size=32, patch_size=16, num_channels=4, out_features=["stage2"])
    config = tf.VitMatteConfig(backbone_config=backbone, hidden_size=32, convstream_hidden_sizes=[4, 8, 16], fusion_hidden_sizes=[16, 8, 8, 8])
    return pictures(settle(awake(tf.VitMatteForImageMatting(config)), torch.randn(8, 4, 32, 32)), channels=4, pick=lambda out: out.alphas)


@family("depth_pro")
def depth_pro():
    vit = dict(model_type="dinov2", hidden_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=16, patch_size=4, use_mask_token=False)
    config = tf.DepthProConfig(
        fusion_hidden_size=16, patch_size=16, intermediate_hook_ids=[1, 0], intermediate_feature_dims=[8, 8], scaled_images_feature_dims=[16, 16, 8],
        image_model_config=vit, patch_model_config=vit, fov_model_config=vit,
    )
    return pictures(tf.DepthProForDepthEstimation(config), side=64, batch=(1, 1), pick=lambda out: out.predicted_depth)


@family("seggpt")
def seggpt():
    config = tf.SegGptConfig(hidden_size=32, num_hidden_layers=5, num_attention_heads=2, image_size=[64, 32], patch_size=8, pretrain_image_size=32, decoder_hidden_size=8, intermediate_hidden_state_indices=[1, 2, 3, 4], merge_index=0)
    names = ("pixel_values", "prompt_pixel_values", "prompt_masks")
    return Case(
        tf.SegGptForImageSegmentation(config).eval(), inputs=lambda: {n: torch.randn(1, 3, 32, 32) for n in names}, pick=lambda out: out.pred_masks,
    )


@family("rf_detr")
def rf_detr():
    backbone = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=64, patch_size=8, num_windows=2, out_features=["stage1", "stage2"])
    config = tf.RfDetrConfig(
        backbone_config=tf.RfDetrDinov2Config(**backbone), d_model=32, decoder_ffn_dim=32, decoder_n_points=2, decoder_layers=2, decoder_self_attention_heads=2,
        decoder_cross_attention_heads=2, num_queries=5, group_detr=1, num_labels=4, c2f_num_blocks=1,
    )
    return pictures(tf.RfDetrForObjectDetection(config), side=64, batch=(1, 1), pick=boxes)


@family("bros")
def bros():
    return Case(
        tf.BrosModel(tf.BrosConfig(**{**ENCODER, "hidden_size": 64}, dim_bbox=8)).eval(),
        inputs=lambda batch, seq: {"input_ids": words(batch, seq), "bbox": torch.rand(batch, seq, 8), "attention_mask": masked(batch, seq)},
        dims={"batch": (2, 1), "seq": (12, 7)}, axes={n: {0: "batch", 1: "seq"} for n in ("input_ids", "bbox", "attention_mask")}, pick=first,
    )


@family("videoprism")
def videoprism():
    config = tf.VideoPrismVisionConfig(image_size=32, num_frames=4, tubelet_size=(1, 8, 8), hidden_size=32, num_attention_heads=2, intermediate_size=64, num_spatial_layers=1, num_temporal_layers=1, num_auxiliary_layers=1)
    return Case(
        tf.VideoPrismVisionModel(config).eval(), inputs=lambda batch: {"pixel_values_videos": torch.randn(batch, 4, 3, 32, 32)}, dims={"batch": (2, 1)},
        axes={"pixel_values_videos": {0: "batch"}}, pick=first,
    )
