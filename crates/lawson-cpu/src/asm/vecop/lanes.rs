//! Instructions between vectors and masks, general registers, or one address a lane.

use crate::asm::spec::{Map::*, Prefix::*, Spec, Tuple::*, W::*, Widths::*, row};

ops! {
    /// Comparisons of floats.
    pub enum CmpFloat {
        Cmpps "vcmpps" => (NP, M0F, W0, 0xC2, Full(4)).vex(W0),
        Cmppd "vcmppd" => (P66, M0F, W1, 0xC2, Full(8)).vex(W0),
    }
}

ops! {
    /// Comparisons of integers.
    pub enum CmpInt {
        Pcmpd "vpcmpd" => (P66, M3A, W0, 0x1F, Full(4)),
        Pcmpq "vpcmpq" => (P66, M3A, W1, 0x1F, Full(8)),
        Pcmpud "vpcmpud" => (P66, M3A, W0, 0x1E, Full(4)),
        Pcmpuq "vpcmpuq" => (P66, M3A, W1, 0x1E, Full(8)),
    }
}

ops! {
    /// `k, a, b`: whether `a & b` is not zero (`vptestm`), is zero (`vptestnm`).
    pub enum VecTest {
        Ptestmd "vptestmd" => (P66, M38, W0, 0x27, Full(4)),
        Ptestmq "vptestmq" => (P66, M38, W1, 0x27, Full(8)),
        Ptestnmd "vptestnmd" => (PF3, M38, W0, 0x27, Full(4)),
        Ptestnmq "vptestnmq" => (PF3, M38, W1, 0x27, Full(8)),
    }
}

ops! {
    /// Loads of one element a lane from anywhere: indices of 32 bits (`d` after the stem) or 64 (`q`), elements by
    /// the last letters.
    pub enum Gather {
        Gatherdps "vgatherdps" => (P66, M38, W0, 0x92, Element(4)),
        Gatherdpd "vgatherdpd" => (P66, M38, W1, 0x92, Element(8)),
        Gatherqps "vgatherqps" => (P66, M38, W0, 0x93, Element(4)),
        Gatherqpd "vgatherqpd" => (P66, M38, W1, 0x93, Element(8)),
        Pgatherdd "vpgatherdd" => (P66, M38, W0, 0x90, Element(4)),
        Pgatherdq "vpgatherdq" => (P66, M38, W1, 0x90, Element(8)),
        Pgatherqd "vpgatherqd" => (P66, M38, W0, 0x91, Element(4)),
        Pgatherqq "vpgatherqq" => (P66, M38, W1, 0x91, Element(8)),
    }
}

ops! {
    /// Stores of one element a lane to anywhere.
    pub enum Scatter {
        Scatterdps "vscatterdps" => (P66, M38, W0, 0xA2, Element(4)),
        Scatterdpd "vscatterdpd" => (P66, M38, W1, 0xA2, Element(8)),
        Scatterqps "vscatterqps" => (P66, M38, W0, 0xA3, Element(4)),
        Scatterqpd "vscatterqpd" => (P66, M38, W1, 0xA3, Element(8)),
        Pscatterdd "vpscatterdd" => (P66, M38, W0, 0xA0, Element(4)),
        Pscatterdq "vpscatterdq" => (P66, M38, W1, 0xA0, Element(8)),
        Pscatterqd "vpscatterqd" => (P66, M38, W0, 0xA1, Element(4)),
        Pscatterqq "vpscatterqq" => (P66, M38, W1, 0xA1, Element(8)),
    }
}

ops! {
    /// A general register to all lanes.
    pub enum BroadcastGpr {
        Pbroadcastb "vpbroadcastb" => (P66, M38, W0, 0x7A, Vector).register(),
        Pbroadcastw "vpbroadcastw" => (P66, M38, W0, 0x7B, Vector).register(),
        Pbroadcastd "vpbroadcastd" => (P66, M38, W0, 0x7C, Vector).register(),
        Pbroadcastq "vpbroadcastq" => (P66, M38, W1, 0x7C, Vector).register(),
    }
}

ops! {
    /// A mask to lanes of all ones and zeros.
    pub enum MaskToVec {
        Pmovm2b "vpmovm2b" => (PF3, M38, W0, 0x28, Vector).register().unmaskable(),
        Pmovm2w "vpmovm2w" => (PF3, M38, W1, 0x28, Vector).register().unmaskable(),
        Pmovm2d "vpmovm2d" => (PF3, M38, W0, 0x38, Vector).register().unmaskable(),
        Pmovm2q "vpmovm2q" => (PF3, M38, W1, 0x38, Vector).register().unmaskable(),
    }
}

ops! {
    /// The sign bits of the lanes to a mask.
    pub enum VecToMask {
        Pmovb2m "vpmovb2m" => (PF3, M38, W0, 0x29, Vector).register().unmaskable(),
        Pmovw2m "vpmovw2m" => (PF3, M38, W1, 0x29, Vector).register().unmaskable(),
        Pmovd2m "vpmovd2m" => (PF3, M38, W0, 0x39, Vector).register().unmaskable(),
        Pmovq2m "vpmovq2m" => (PF3, M38, W1, 0x39, Vector).register().unmaskable(),
    }
}

ops! {
    /// `dst, a, b, select`: the AVX2 way to select, by the sign bits of a vector.
    pub enum BlendVar {
        Blendvps "vblendvps" => (P66, M3A, W0, 0x4A, Vector).only_vex(),
        Blendvpd "vblendvpd" => (P66, M3A, W0, 0x4B, Vector).only_vex(),
        Pblendvb "vpblendvb" => (P66, M3A, W0, 0x4C, Vector).only_vex(),
    }
}

ops! {
    /// `[mem], select, src`: the AVX2 way to store some lanes, by the sign bits of a vector.
    pub enum MaskMovStore {
        Maskmovps "vmaskmovps" => (P66, M38, W0, 0x2E, Vector).only_vex().memory(),
        Maskmovpd "vmaskmovpd" => (P66, M38, W0, 0x2F, Vector).only_vex().memory(),
        Pmaskmovd "vpmaskmovd" => (P66, M38, W0, 0x8E, Vector).only_vex().memory(),
        Pmaskmovq "vpmaskmovq" => (P66, M38, W1, 0x8E, Vector).only_vex().memory(),
    }
}

ops! {
    /// The sign bits of the lanes to a general register.
    pub enum LaneBits {
        Movmskps "vmovmskps" => (NP, M0F, W0, 0x50, Vector).only_vex().register().unmaskable(),
        Movmskpd "vmovmskpd" => (P66, M0F, W0, 0x50, Vector).only_vex().register().unmaskable(),
    }
}

ops! {
    /// A general register to the lowest lane, others zero.
    pub enum VecFromGpr {
        Movd "vmovd" => (P66, M0F, W0, 0x6E, Fixed(4)).vex(W0).widths(Only128).register().unmaskable(),
        Movq "vmovq" => (P66, M0F, W1, 0x6E, Fixed(8)).vex(W1).widths(Only128).register().unmaskable(),
    }
}

ops! {
    /// The lowest lane to a general register.
    pub enum GprFromVec {
        Movd "vmovd" => (P66, M0F, W0, 0x7E, Fixed(4)).vex(W0).widths(Only128).register().unmaskable(),
        Movq "vmovq" => (P66, M0F, W1, 0x7E, Fixed(8)).vex(W1).widths(Only128).register().unmaskable(),
    }
}
