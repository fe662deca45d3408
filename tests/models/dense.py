"""Networks that say something of every place of a picture, or of things in it: detectors, segmenters, depth, key points; and clips."""

import torch
import transformers as tf
from torch import nn
from torchvision.models import segmentation, video

from case import Case, family, settle
from vision import TINY, clips, embedding, pixels, resnet_backbone, segmenter

BACKBONE = dict(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None)
DETR = dict(
    d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64,
    decoder_ffn_dim=64, num_queries=5, num_labels=4,
)


def stages(count):
    config = resnet_backbone()
    config.out_features = ["stage2", "stage3", "stage4"][-count:]
    return config


def loud(net, side):
    """The network with settled batch norms, and a last layer that makes of its values more than tolerances."""
    settle(net, torch.randn(8, 3, side, side))
    last = [m for m in net.modules() if isinstance(m, (nn.Linear, nn.Conv2d))][-1]
    nn.init.normal_(last.weight)
    return net


def awake(net):
    """The network with weights that keep the size of values, where those of its initialisation let them vanish."""
    for m in net.modules():
        if isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d, nn.ConvTranspose2d)):
            nn.init.kaiming_normal_(m.weight)
    return net


def boxes(out):
    return out.logits, out.pred_boxes


family("deeplab_resnet")(lambda: segmenter(segmentation.deeplabv3_resnet50))


@family("s3d")
def s3d():
    net = settle(video.s3d(weights=None, num_classes=10), torch.randn(1, 3, 16, 224, 224), rounds=1)
    return Case(net, inputs=lambda **_: {"x": torch.randn(1, 3, 16, 224, 224)})


@family("mc3")
def mc3():
    return clips(settle(video.mc3_18(weights=None, num_classes=10), torch.randn(2, 3, 4, 32, 32)))


@family("table_transformer")
def table_transformer():
    config = tf.TableTransformerConfig(backbone_config=resnet_backbone(), **BACKBONE, **DETR)
    return pixels(tf.TableTransformerForObjectDetection(config), 64, (2, 1), pick=boxes)


@family("deformable_detr")
def deformable_detr():
    config = tf.DeformableDetrConfig(
        backbone_config=stages(3), **BACKBONE, **DETR, num_feature_levels=3, encoder_n_points=2, decoder_n_points=2, disable_custom_kernels=True,
    )
    return pixels(tf.DeformableDetrForObjectDetection(config), 64, (2, 1), pick=boxes)


@family("dab_detr")
def dab_detr():
    settings = dict(DETR, hidden_size=32)
    settings.pop("d_model")
    config = tf.DabDetrConfig(backbone_config=resnet_backbone(), **BACKBONE, **settings)
    return pixels(tf.DabDetrForObjectDetection(config), 64, (2, 1), pick=boxes)


@family("rt_detr")
def rt_detr():
    backbone = tf.RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage2", "stage3", "stage4"])
    config = tf.RTDetrConfig(
        backbone_config=backbone, **BACKBONE, encoder_hidden_dim=32, encoder_in_channels=[16, 16, 32], encoder_layers=1, encoder_ffn_dim=64,
        encoder_attention_heads=2, d_model=32, num_queries=6, decoder_in_channels=[32, 32, 32], decoder_ffn_dim=64, decoder_layers=2,
        decoder_attention_heads=2, decoder_n_points=2, num_labels=4, disable_custom_kernels=True, anchor_image_size=[64, 64],
    )
    return pixels(tf.RTDetrForObjectDetection(config), 64, (2, 1), pick=boxes)


@family("upernet")
def upernet():
    backbone = tf.ConvNextConfig(hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], out_features=["stage1", "stage2", "stage3", "stage4"])
    config = tf.UperNetConfig(backbone_config=backbone, hidden_size=16, use_auxiliary_head=False, num_labels=4)
    return pixels(loud(tf.UperNetForSemanticSegmentation(config), 64), 64, (2, 1), pick=lambda o: o.logits)


@family("depth_anything")
def depth_anything():
    backbone = tf.Dinov2Config(
        hidden_size=32, num_hidden_layers=4, num_attention_heads=2, image_size=56, patch_size=14, reshape_hidden_states=False,
        apply_layernorm=True, out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    config = tf.DepthAnythingConfig(
        backbone_config=backbone, patch_size=14, reassemble_hidden_size=32, neck_hidden_sizes=[8, 16, 16, 32], fusion_hidden_size=16, head_hidden_size=8,
    )
    return pixels(awake(tf.DepthAnythingForDepthEstimation(config)), 56, (2, 1), pick=lambda o: o.predicted_depth)


@family("zoedepth")
def zoedepth():
    backbone = tf.BeitConfig(
        **{**TINY, "num_hidden_layers": 4}, image_size=32, patch_size=8, use_relative_position_bias=True, reshape_hidden_states=False,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    config = tf.ZoeDepthConfig(
        backbone_config=backbone, neck_hidden_sizes=[8, 16, 16, 32], fusion_hidden_size=16, bottleneck_features=16, num_relative_features=16,
        bin_embedding_dim=16, num_attractors=[4, 2, 2, 1],
    )
    return pixels(tf.ZoeDepthForDepthEstimation(config), 32, (2, 1), pick=lambda o: o.predicted_depth)


@family("sam")
def sam():
    config = tf.SamConfig(
        vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, output_channels=16, image_size=64, patch_size=8, window_size=4, global_attn_indexes=[1], mlp_dim=64, num_pos_feats=8),
        prompt_encoder_config=dict(hidden_size=16, image_size=64, patch_size=8, mask_input_channels=4),
        mask_decoder_config=dict(hidden_size=16, mlp_dim=32, num_attention_heads=2, attention_downsample_rate=2, iou_head_hidden_dim=16),
    )
    return Case(
        awake(tf.SamModel(config)).eval(),
        inputs=lambda batch: {"pixel_values": torch.randn(batch, 3, 64, 64), "input_points": 64 * torch.rand(batch, 1, 2, 2), "input_labels": torch.ones(batch, 1, 2, dtype=torch.int64)},
        dims={"batch": (2, 1)},
        axes={"pixel_values": {0: "batch"}, "input_points": {0: "batch"}, "input_labels": {0: "batch"}},
        pick=lambda o: (o.iou_scores, o.pred_masks),
    )


@family("vitpose")
def vitpose():
    backbone = tf.VitPoseBackboneConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=[64, 48], patch_size=[16, 16], mlp_ratio=2)
    config = tf.VitPoseConfig(backbone_config=backbone, num_labels=5)
    return Case(
        tf.VitPoseForPoseEstimation(config).eval(),
        inputs=lambda batch: {"pixel_values": torch.randn(batch, 3, 64, 48)},
        dims={"batch": (2, 1, 3)},
        axes={"pixel_values": {0: "batch"}},
        pick=lambda o: o.heatmaps,
    )


@family("timesformer")
def timesformer():
    config = tf.TimesformerConfig(**TINY, image_size=32, patch_size=8, num_frames=4)
    return Case(
        tf.TimesformerForVideoClassification(config).eval(),
        inputs=lambda batch: {"pixel_values": torch.randn(batch, 4, 3, 32, 32)},
        dims={"batch": (2, 1)},
        axes={"pixel_values": {0: "batch"}},
    )


@family("vivit")
def vivit():
    config = tf.VivitConfig(**TINY, image_size=32, num_frames=4, tubelet_size=[2, 8, 8])
    return Case(
        tf.VivitForVideoClassification(config).eval(),
        inputs=lambda batch: {"pixel_values": torch.randn(batch, 4, 3, 32, 32)},
        dims={"batch": (2, 1)},
        axes={"pixel_values": {0: "batch"}},
    )


def settled(name, config, model, side, **more):
    """A classifier of transformers whose batch norms have the statistics of random data."""
    make = lambda: loud(getattr(tf, model)(getattr(tf, config)(**more)), side)
    family(name)(lambda: pixels(make(), side, pick=lambda o: o[0]))


settled("mobilevit_v2", "MobileViTV2Config", "MobileViTV2ForImageClassification", 64, image_size=64, width_multiplier=0.25)
settled("mobilenet_v1", "MobileNetV1Config", "MobileNetV1ForImageClassification", 64, depth_multiplier=0.25, image_size=64, min_depth=8)
embedding("big_transfer", "BitConfig", "BitForImageClassification", 64, embedding_size=32, hidden_sizes=[32, 32, 64, 64], depths=[1, 1, 1, 1], layer_type="preactivation", num_groups=8)
settled("swiftformer", "SwiftFormerConfig", "SwiftFormerForImageClassification", 64, embed_dims=[8, 16, 16, 32], depths=[1, 1, 1, 1], image_size=64)
embedding("pvt_v2", "PvtV2Config", "PvtV2ForImageClassification", 64, image_size=64, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4])
embedding("dinov2_registers", "Dinov2WithRegistersConfig", "Dinov2WithRegistersForImageClassification", hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=8)
embedding("vit_msn", "ViTMSNConfig", "ViTMSNForImageClassification", **TINY, image_size=32, patch_size=8)
embedding("swinv2_transformers", "Swinv2Config", "Swinv2ForImageClassification", 64, image_size=64, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
embedding("donut_swin", "DonutSwinConfig", "DonutSwinModel", 64, image_size=64, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
