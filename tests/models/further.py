"""Pictures, clips and texts from transformers, of kinds that the other files do not have."""

import torch
import transformers as tf

from case import Case, family
from dense import loud
from language import ENCODER, WORDS, decoder, encoder, first, text, words

VIT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8)


def pictures(model, side=32, pick=first, channels=3, name="pixel_values", batch=(2, 1), **more):
    return Case(
        model.eval(), inputs=lambda batch: {name: torch.randn(batch, channels, side, side)}, dims={"batch": batch}, axes={name: {0: "batch"}}, pick=pick, **more
    )


family("cvt")(lambda: pictures(tf.CvtForImageClassification(tf.CvtConfig(embed_dim=[8, 16, 32], num_heads=[1, 2, 2], depth=[1, 2, 3], patch_sizes=[7, 3, 3])), side=64))
family("dinov3_vit")(lambda: pictures(tf.DINOv3ViTModel(tf.DINOv3ViTConfig(**VIT, num_register_tokens=2))))
family("dinov3_convnext")(lambda: pictures(tf.DINOv3ConvNextModel(tf.DINOv3ConvNextConfig(hidden_sizes=[8, 16, 32, 32], depths=[1, 1, 1, 1])), side=64))
family("hgnet_v2")(lambda: pictures(loud(tf.HGNetV2ForImageClassification(tf.HGNetV2Config(
    embedding_size=8, stem_channels=[3, 8, 8], stage_in_channels=[8, 16, 32, 32], stage_mid_channels=[8, 8, 8, 8], stage_out_channels=[16, 32, 32, 32],
    stage_num_blocks=[1, 1, 1, 1], stage_numb_of_layers=[2, 2, 2, 2], depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 32, 32],
)), 64), side=64))
family("ijepa")(lambda: pictures(tf.IJepaModel(tf.IJepaConfig(**VIT))))
family("vitdet")(lambda: pictures(tf.VitDetModel(tf.VitDetConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=8, pretrain_image_size=32, window_block_indices=[0], window_size=2, use_relative_position_embeddings=True))))
family("text_net")(lambda: pictures(loud(tf.TextNetForImageClassification(tf.TextNetConfig(
    stem_out_channels=8, hidden_sizes=[8, 8, 16, 16, 16], conv_layer_kernel_sizes=[[[3, 3]], [[3, 1]], [[1, 3]], [[3, 3]]], conv_layer_strides=[[1], [2], [2], [2]],
)), 64), side=64))
family("mgp_str")(lambda: Case(
    tf.MgpstrForSceneTextRecognition(tf.MgpstrConfig(
        image_size=[16, 32], patch_size=4, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, max_token_length=5, num_character_labels=10,
        num_bpe_labels=12, num_wordpiece_labels=14,
    )).eval(),
    inputs=lambda batch: {"pixel_values": torch.randn(batch, 3, 16, 32)}, dims={"batch": (2, 1)}, axes={"pixel_values": {0: "batch"}}, pick=lambda out: out.logits,
))
family("super_point")(lambda: Case(
    tf.SuperPointForKeypointDetection(tf.SuperPointConfig(encoder_hidden_sizes=[8, 8, 16, 16], decoder_hidden_size=16, keypoint_decoder_dim=65, descriptor_decoder_dim=16, keypoint_threshold=0.0, max_keypoints=20)).eval(),
    inputs=lambda: {"pixel_values": torch.rand(1, 3, 32, 40)},
    pick=lambda out: (out.keypoints, out.scores, out.descriptors),
))
family("siglip2_vision")(lambda: Case(
    tf.Siglip2VisionModel(tf.Siglip2VisionConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, patch_size=4, num_patches=16)).eval(),
    inputs=lambda batch: {
        "pixel_values": torch.randn(batch, 16, 48), "pixel_attention_mask": torch.ones(batch, 16, dtype=torch.int64),
        "spatial_shapes": torch.tensor([[4, 4]] * batch),
    },
    dims={"batch": (2, 2)}, axes={}, pick=first,
))
family("vjepa2")(lambda: Case(
    tf.VJEPA2Model(tf.VJEPA2Config(
        hidden_size=24, num_hidden_layers=1, num_attention_heads=2, crop_size=32, patch_size=8, frames_per_clip=4, tubelet_size=2, pred_hidden_size=24,
        pred_num_attention_heads=2, pred_num_hidden_layers=1, mlp_ratio=2.0,
    )).eval(),
    inputs=lambda: {"pixel_values_videos": torch.randn(1, 4, 3, 32, 32)}, pick=first,
))


@family("mask2former")
def mask2former():
    backbone = tf.SwinConfig(image_size=64, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 1, 1], window_size=4, out_features=["stage1", "stage2", "stage3", "stage4"])
    config = tf.Mask2FormerConfig(
        backbone_config=backbone, feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=32, encoder_layers=1, decoder_layers=2,
        num_attention_heads=2, dim_feedforward=32, num_queries=5, num_labels=3,
    )
    return pictures(tf.Mask2FormerModel(config), side=64, batch=(1, 1), pick=lambda out: (out.pixel_decoder_last_hidden_state, out.transformer_decoder_last_hidden_state))


@family("mask_former")
def mask_former():
    backbone = tf.SwinConfig(image_size=64, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 1, 1], window_size=4, out_features=["stage1", "stage2", "stage3", "stage4"])
    detr = tf.DetrConfig(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=5)
    config = tf.MaskFormerConfig(fpn_feature_size=32, mask_feature_size=32, backbone_config=backbone, decoder_config=detr, num_labels=3)
    return pictures(tf.MaskFormerModel(config), side=64, batch=(1, 1), pick=lambda out: (out.pixel_decoder_last_hidden_state, out.transformer_decoder_last_hidden_state))


@family("group_vit")
def group_vit():
    config = tf.GroupViTVisionConfig(hidden_size=32, intermediate_size=64, depths=[1, 1, 1], num_hidden_layers=3, num_group_tokens=[8, 4, 0], num_output_groups=[8, 4, 0], num_attention_heads=2, image_size=32, patch_size=8)
    return pictures(tf.GroupViTVisionModel(config))


@family("image_gpt")
def image_gpt():
    return text(tf.ImageGPTForCausalImageModeling(tf.ImageGPTConfig(vocab_size=WORDS + 1, n_positions=64, n_embd=32, n_layer=2, n_head=2, use_cache=False)), mask=False, pick=first)


encoder("luke", "LukeConfig", "LukeModel", pad_token_id=1, entity_vocab_size=10, entity_emb_size=16)
encoder("xmod", "XmodConfig", "XmodModel", pad_token_id=1, languages=["en_XX"], default_language="en_XX")
encoder("roberta_pre_layer_norm", "RobertaPreLayerNormConfig", "RobertaPreLayerNormForMaskedLM", pad_token_id=1)
encoder("bert_generation", "BertGenerationConfig", "BertGenerationDecoder", is_decoder=True, use_cache=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
encoder("nomic_bert", "NomicBertConfig", "NomicBertModel")
encoder("mra", "MraConfig", "MraForMaskedLM", block_per_row=2, dims={"batch": (2, 1), "seq": (64, 64)})

decoder("dbrx", "DbrxConfig", "DbrxForCausalLM", base={}, vocab_size=WORDS, d_model=32, n_heads=2, n_layers=2, max_seq_len=64, attn_config=dict(kv_n_heads=1, clip_qkv=8.0, rope_theta=10000.0), ffn_config=dict(ffn_hidden_size=32, moe_num_experts=4, moe_top_k=2, hidden_size=32))
decoder("doge", "DogeConfig", "DogeForCausalLM", pad_token_id=0, bos_token_id=1, eos_token_id=2)
decoder("apertus", "ApertusConfig", "ApertusForCausalLM", pad_token_id=0)
decoder("arcee", "ArceeConfig", "ArceeForCausalLM", pad_token_id=0)
decoder("exaone4", "Exaone4Config", "Exaone4ForCausalLM", pad_token_id=0, sliding_window=4)
decoder("glm4", "Glm4Config", "Glm4ForCausalLM", pad_token_id=0)
decoder("jet_moe", "JetMoeConfig", "JetMoeForCausalLM", kv_channels=16, num_local_experts=4, num_experts_per_tok=2, num_key_value_heads=1)
decoder("phi_moe", "PhimoeConfig", "PhimoeForCausalLM", num_local_experts=4, num_experts_per_tok=2)
decoder("nano_chat", "NanoChatConfig", "NanoChatForCausalLM", pad_token_id=0, bos_token_id=1, eos_token_id=2)
decoder("seed_oss", "SeedOssConfig", "SeedOssForCausalLM", pad_token_id=0)
decoder("gemma3n_text", "Gemma3nTextConfig", "Gemma3nForCausalLM", vocab_size_per_layer_input=WORDS, hidden_size_per_layer_input=8, num_kv_shared_layers=0, laurel_rank=4, altup_num_inputs=2, activation_sparsity_pattern=[0.5, 0.0], layer_types=["sliding_attention", "full_attention"], sliding_window=4)


@family("visual_bert")
def visual_bert():
    return Case(
        tf.VisualBertModel(tf.VisualBertConfig(**ENCODER, visual_embedding_dim=16)).eval(),
        inputs=lambda batch, seq: {"input_ids": words(batch, seq), "visual_embeds": torch.randn(batch, 5, 16)},
        dims={"batch": (2, 1), "seq": (12, 7)}, axes={"input_ids": {0: "batch", 1: "seq"}, "visual_embeds": {0: "batch"}}, pick=first,
    )


@family("lxmert")
def lxmert():
    config = tf.LxmertConfig(vocab_size=WORDS, hidden_size=32, num_attention_heads=2, intermediate_size=64, l_layers=1, x_layers=1, r_layers=1, visual_feat_dim=16, max_position_embeddings=64)
    return Case(
        tf.LxmertModel(config).eval(),
        inputs=lambda batch, seq: {"input_ids": words(batch, seq), "visual_feats": torch.randn(batch, 5, 16), "visual_pos": torch.rand(batch, 5, 4)},
        dims={"batch": (2, 1), "seq": (12, 7)}, axes={"input_ids": {0: "batch", 1: "seq"}, "visual_feats": {0: "batch"}, "visual_pos": {0: "batch"}},
        pick=lambda out: (out[0], out[1], out[2]),
    )
