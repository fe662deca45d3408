"""Networks for images and videos, from torchvision and transformers."""

import torch
import torchvision.models as tv
import transformers as tf
from torch import nn
from torchvision.models import detection, optical_flow, segmentation, video

from case import Case, family, settle


def picture(side, batch=(2, 1, 3), name="x"):
    return dict(
        inputs=lambda batch: {name: torch.randn(batch, 3, side, side)},
        dims={"batch": batch},
        axes={name: {0: "batch"}},
    )


class Named(nn.Module):
    """Calls a network whose argument has another name."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)


def torchvision_case(make, side=64, **kwargs):
    net = make(weights=None, num_classes=10, **kwargs)
    return Case(Named(settle(net, torch.randn(16, 3, side, side))), **picture(side))


def simple(name, make, listed=True, side=64, **kwargs):
    family(name, listed)(lambda: torchvision_case(make, side, **kwargs))


@family("resnet", listed=True)
def resnet():
    net = tv.ResNet(tv.resnet.Bottleneck, [1, 1, 1, 1], num_classes=10)
    return Case(Named(settle(net, torch.randn(16, 3, 64, 64))), **picture(64))


simple("mobilenet_v2", tv.mobilenet_v2)
simple("mobilenet_v3", tv.mobilenet_v3_small)
simple("efficientnet", tv.efficientnet_b0)
simple("efficientnet_v2", tv.efficientnet_v2_s, listed=False)
simple("convnext", tv.convnext_tiny)
simple("shufflenet", tv.shufflenet_v2_x0_5)
simple("regnet", tv.regnet_y_400mf)
simple("regnet_x", tv.regnet_x_400mf, listed=False)
simple("squeezenet", tv.squeezenet1_1, listed=False)
simple("alexnet", tv.alexnet, listed=False)
simple("mnasnet", tv.mnasnet0_5, listed=False)
simple("googlenet", tv.googlenet, listed=False, aux_logits=False, init_weights=False)
simple("resnext", lambda **k: tv.ResNet(tv.resnet.Bottleneck, [1, 1, 1, 1], groups=8, width_per_group=4, num_classes=10), listed=False)
simple("inception", tv.inception_v3, side=96, aux_logits=False, init_weights=False)


@family("densenet", listed=True)
def densenet():
    net = tv.DenseNet(growth_rate=8, block_config=(2, 2, 2, 2), num_init_features=16, num_classes=10)
    return Case(Named(settle(net, torch.randn(16, 3, 64, 64))), **picture(64))


@family("vgg")
def vgg():
    net = tv.VGG(tv.vgg.make_layers([8, "M", 16, "M", 16, "M", 32, "M", 512, "M"], batch_norm=True), num_classes=10)
    return Case(Named(settle(net, torch.randn(16, 3, 64, 64))), **picture(64))


@family("vit", listed=True)
def vit():
    net = tv.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10)
    nn.init.normal_(net.heads[-1].weight)
    return Case(Named(net.eval()), **picture(32))


@family("swin", listed=True)
def swin():
    net = tv.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10)
    return Case(Named(net.eval()), **picture(64))


@family("swin_v2")
def swin_v2():
    block = tv.swin_transformer.SwinTransformerBlockV2
    merging = tv.swin_transformer.PatchMergingV2
    net = tv.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10, block=block, downsample_layer=merging)
    return Case(Named(net.eval()), **picture(64))


@family("maxvit", listed=True)
def maxvit():
    net = tv.MaxVit(
        input_size=(64, 64), stem_channels=16, partition_size=2, block_channels=[16, 32], block_layers=[1, 1],
        head_dim=8, stochastic_depth_prob=0.0, num_classes=10,
    )
    return Case(Named(settle(net, torch.randn(16, 3, 64, 64))), **picture(64))


class UNet(nn.Module):
    """The usual contracting and expanding halves with connections between them."""

    def __init__(self, widths=(8, 16, 32)):
        super().__init__()
        def double(i, o):
            return nn.Sequential(
                nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
            )
        self.down = nn.ModuleList(double(i, o) for i, o in zip((3, *widths), widths))
        pairs = list(zip(widths[::-1], widths[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(i, o, 2, stride=2) for i, o in pairs)
        self.smooth = nn.Conv2d(widths[-1], widths[-1], 1)
        self.join = nn.ModuleList(double(2 * o, o) for _, o in pairs)
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else nn.functional.max_pool2d(x, 2))
            kept.append(x)
        x = self.smooth(x)
        for up, join, other in zip(self.up, self.join, kept[-2::-1]):
            x = up(x)
            if x.shape[-1] != other.shape[-1]:
                x = nn.functional.interpolate(x, size=other.shape[-2:], mode="bilinear", align_corners=False)
            x = join(torch.cat([other, x], 1))
        return self.head(x)


@family("unet", listed=True)
def unet():
    return Case(
        settle(UNet(), torch.randn(4, 3, 32, 32)),
        inputs=lambda batch, height, width: {"x": torch.randn(batch, 3, 4 * height, 4 * width)},
        dims={"batch": (2, 1, 3), "height": (8, 5, 9), "width": (8, 6, 7)},
        axes={"x": {0: "batch", 2: ("height", 4), 3: ("width", 4)}},
    )


def segmenter(make):
    net = make(weights=None, weights_backbone=None, num_classes=5)
    case = Case(Named(settle(net, torch.randn(2, 3, 64, 64))), **picture(64, (1, 2)))
    case.pick = lambda out: out["out"]
    return case


family("deeplab", listed=True)(lambda: segmenter(segmentation.deeplabv3_mobilenet_v3_large))
family("fcn", listed=True)(lambda: segmenter(segmentation.fcn_resnet50))
family("lraspp")(lambda: segmenter(segmentation.lraspp_mobilenet_v3_large))


class Detector(nn.Module):
    """A detector of torchvision on one picture."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net([x])


def detect(net, side=64):
    """A detector on one picture: its backbone settled, its heads with weights that make scores and boxes differ, so that what it
    keeps does not hang on the last bit."""
    settle(net.backbone, torch.rand(4, 3, 128, 128))
    heads = [m for n, m in net.named_modules() if "backbone" not in n and isinstance(m, (nn.Conv2d, nn.Linear))]
    with torch.no_grad():
        for layer in heads:
            nn.init.kaiming_normal_(layer.weight)
        for name, p in net.named_parameters():
            own = "backbone" not in name and name.endswith("weight")
            if own and any(part in name for part in ("bbox_pred", "bbox_reg")):
                p.mul_(0.1)
            elif own and any(part in name for part in ("cls_logits", "cls_score", "module_list")):
                p.mul_(0.3)
    return Case(
        Detector(net.eval()),
        inputs=lambda **_: {"x": torch.rand(3, side, side + 16)},
        pick=lambda out: list(out[0].values()),
        atol=1e-3,
    )


@family("ssd", listed=True)
def ssd():
    net = detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4, detections_per_img=20, topk_candidates=30)
    return detect(net, 96)


@family("faster_rcnn", listed=True)
def faster_rcnn():
    net = detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None, num_classes=4, min_size=96, max_size=128, box_detections_per_img=10,
        rpn_pre_nms_top_n_test=50, rpn_post_nms_top_n_test=20, box_score_thresh=0.01,
    )
    return detect(net)


@family("mask_rcnn")
def mask_rcnn():
    net = detection.maskrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=4, min_size=96, max_size=128, box_detections_per_img=5,
        rpn_pre_nms_top_n_test=30, rpn_post_nms_top_n_test=10, box_score_thresh=0.01,
    )
    return detect(net)


@family("keypoint_rcnn")
def keypoint_rcnn():
    net = detection.keypointrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=2, num_keypoints=5, min_size=96, max_size=128,
        box_detections_per_img=5, rpn_pre_nms_top_n_test=30, rpn_post_nms_top_n_test=10, box_score_thresh=0.01,
    )
    return detect(net)


@family("retinanet")
def retinanet():
    net = detection.retinanet_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=4, min_size=96, max_size=128, topk_candidates=30, detections_per_img=10,
    )
    return detect(net)


@family("fcos")
def fcos():
    net = detection.fcos_resnet50_fpn(
        score_thresh=0.01,
        weights=None, weights_backbone=None, num_classes=4, min_size=96, max_size=128, topk_candidates=30, detections_per_img=10,
    )
    return detect(net)


class Flow(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, a, b):
        return self.net(a, b, num_flow_updates=2)[-1]


@family("raft", listed=True)
def raft():
    net = optical_flow.raft_small(weights=None)
    return Case(
        Flow(settle(net, torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128), rounds=1)),
        inputs=lambda batch: {"a": torch.rand(batch, 3, 128, 136), "b": torch.rand(batch, 3, 128, 136)},
        dims={"batch": (2, 1)},
        axes={"a": {0: "batch"}, "b": {0: "batch"}},
        atol=1e-3,
    )


def clips(net, frames=4, side=32):
    return Case(
        Named(net),
        inputs=lambda batch: {"x": torch.randn(batch, 3, frames, side, side)},
        dims={"batch": (2, 1)},
        axes={"x": {0: "batch"}},
    )


@family("video_resnet", listed=True)
def video_resnet():
    return clips(settle(video.r3d_18(weights=None, num_classes=10), torch.randn(2, 3, 4, 32, 32)))


@family("r2plus1d")
def r2plus1d():
    return clips(settle(video.r2plus1d_18(weights=None, num_classes=10), torch.randn(2, 3, 4, 32, 32)))


@family("swin3d")
def swin3d():
    net = video.SwinTransformer3d([2, 4, 4], 16, [2, 2], [2, 4], [2, 4, 4], num_classes=10)
    return clips(net.eval())


@family("mvit")
def mvit():
    setting = video.mvit.MSBlockConfig
    blocks = [
        setting(num_heads=1, input_channels=16, output_channels=16, kernel_q=[], kernel_kv=[3, 3, 3], stride_q=[], stride_kv=[1, 2, 2]),
        setting(num_heads=2, input_channels=16, output_channels=32, kernel_q=[3, 3, 3], kernel_kv=[3, 3, 3], stride_q=[1, 2, 2], stride_kv=[1, 1, 1]),
    ]
    net = video.MViT((32, 32), 8, blocks, residual_pool=True, residual_with_cls_embed=False, rel_pos_embed=True, proj_after_attn=True, num_classes=10)
    return clips(net.eval(), frames=8)


# From transformers.


def pixels(model, side=32, batch=(2, 1, 3), **more):
    return Case(model.eval(), pick=more.pop("pick", None), **picture(side, batch, "pixel_values"))


TINY = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)


@family("segformer", listed=True)
def segformer():
    config = tf.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 32], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16, num_labels=4,
    )
    return pixels(tf.SegformerForSemanticSegmentation(config), 64)


def resnet_backbone():
    return tf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage4"],
    )


@family("detr", listed=True)
def detr():
    config = tf.DetrConfig(
        backbone_config=resnet_backbone(), use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, d_model=32,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64,
        decoder_ffn_dim=64, num_queries=5, num_labels=4,
    )
    return pixels(tf.DetrForObjectDetection(config), 64, (2, 1), pick=lambda o: (o.logits, o.pred_boxes))


@family("conditional_detr")
def conditional_detr():
    config = tf.ConditionalDetrConfig(
        backbone_config=resnet_backbone(), use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, d_model=32,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64,
        decoder_ffn_dim=64, num_queries=5, num_labels=4,
    )
    return pixels(tf.ConditionalDetrForObjectDetection(config), 64, (2, 1), pick=lambda o: (o.logits, o.pred_boxes))


@family("yolos")
def yolos():
    config = tf.YolosConfig(**TINY, image_size=[32, 32], patch_size=8, num_detection_tokens=5, num_labels=3)
    return pixels(tf.YolosForObjectDetection(config), pick=lambda o: (o.logits, o.pred_boxes))


def embedding(name, config, model, side=32, pick=lambda o: o[0], **more):
    family(name)(lambda: pixels(getattr(tf, model)(getattr(tf, config)(**more)), side, pick=pick))


embedding("deit", "DeiTConfig", "DeiTForImageClassification", **TINY, image_size=32, patch_size=8)
embedding("beit", "BeitConfig", "BeitForImageClassification", **TINY, image_size=32, patch_size=8, use_relative_position_bias=True)
embedding("data2vec_vision", "Data2VecVisionConfig", "Data2VecVisionForImageClassification", **TINY, image_size=32, patch_size=8)
embedding("dinov2", "Dinov2Config", "Dinov2ForImageClassification", hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=8)
embedding("dpt", "DPTConfig", "DPTForDepthEstimation", **{**TINY, "num_hidden_layers": 4}, image_size=32, patch_size=8, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 16, 16, 32], fusion_hidden_size=16, is_hybrid=False)
embedding("mobilevit", "MobileViTConfig", "MobileViTForImageClassification", 64, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64], num_attention_heads=2, image_size=64)
embedding("poolformer", "PoolFormerConfig", "PoolFormerForImageClassification", 64, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 32])
embedding("pvt", "PvtConfig", "PvtForImageClassification", 64, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 32], num_attention_heads=[1, 2, 2, 4], image_size=64)
embedding("levit", "LevitConfig", "LevitForImageClassification", 64, image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[2, 2, 2], depths=[1, 1, 1], key_dim=[8, 8, 8])
embedding("focalnet", "FocalNetConfig", "FocalNetForImageClassification", 64, image_size=64, embed_dim=16, depths=[1, 1, 1, 1])
embedding("swin2sr", "Swin2SRConfig", "Swin2SRForImageSuperResolution", 32, image_size=32, embed_dim=16, depths=[2], num_heads=[2], window_size=4, upscale=2)
embedding("convnext_v2", "ConvNextV2Config", "ConvNextV2ForImageClassification", 64, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1])
embedding("glpn", "GLPNConfig", "GLPNForDepthEstimation", 64, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 32], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=8)
embedding("hiera", "HieraConfig", "HieraForImageClassification", 64, image_size=[64, 64], embed_dim=16, depths=[1, 1, 1, 1], num_heads=[1, 2, 2, 4], masked_unit_size=[8, 8])


@family("vit_mae")
def vit_mae():
    config = tf.ViTMAEConfig(
        **TINY, image_size=32, patch_size=8, decoder_hidden_size=16, decoder_num_hidden_layers=1, decoder_num_attention_heads=2,
        decoder_intermediate_size=32,
    )
    return Case(
        tf.ViTMAEForPreTraining(config).eval(),
        inputs=lambda batch: {"pixel_values": torch.randn(batch, 3, 32, 32), "noise": torch.rand(batch, 16)},
        dims={"batch": (2, 1, 3)},
        axes={"pixel_values": {0: "batch"}, "noise": {0: "batch"}},
        pick=lambda o: (o.logits, o.mask, o.ids_restore),
    )


@family("videomae")
def videomae():
    config = tf.VideoMAEConfig(**TINY, image_size=32, patch_size=8, num_frames=4, tubelet_size=2)
    return Case(
        tf.VideoMAEForVideoClassification(config).eval(),
        inputs=lambda batch: {"pixel_values": torch.randn(batch, 4, 3, 32, 32)},
        dims={"batch": (2, 1)},
        axes={"pixel_values": {0: "batch"}},
    )
