//! Images as inputs: decoded, resized to what the input asks for, and laid out and scaled as it wants them.

use crate::args::{ImageArgs, ImageLayout};
use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageReader, Limits};
use lawson::graph::{Dim, TensorType};
use lawson::{Code, Error, HostTensor, Place, Result};
use std::path::Path;

/// The most bytes that decoding may take, whatever a file says of its size.
const MAX_BYTES: u64 = 512 << 20;

/// Whether the name is that of an image.
pub fn is_image(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    matches!(extension.as_str(), "png" | "jpg" | "jpeg" | "bmp" | "ppm" | "pgm" | "pnm")
}

/// Reads an image as a tensor of that type. Sizes that the type leaves open are those of the image.
pub fn read(path: &Path, ty: &TensorType, args: &ImageArgs) -> Result<HostTensor> {
    let place = || Place::File(path.display().to_string());
    let failed = |what: String| Error::new(Code::FileFormat, what).at(place());
    let mut reader = ImageReader::open(path)
        .and_then(ImageReader::with_guessed_format)
        .map_err(|e| lawson::graph::file::io_error("read the image", path, &e))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_BYTES);
    reader.limits(limits);
    let picture = reader.decode().map_err(|e| failed(format!("the image cannot be decoded: {e}")))?;
    tensor(&picture, ty, args).map_err(|e| e.at(place()))
}

/// Where channels, height and width are among the dimensions.
struct Axes {
    channels: Option<usize>,
    height: usize,
    width: usize,
}

fn axes(ty: &TensorType, layout: Option<ImageLayout>) -> Option<Axes> {
    let rank = ty.rank();
    let is_channels = |axis: usize| matches!(ty.shape[axis].as_const(), Some(1 | 3));
    match (rank, layout) {
        (2, _) => Some(Axes { channels: None, height: 0, width: 1 }),
        (3 | 4, Some(ImageLayout::Nhwc)) => {
            Some(Axes { channels: Some(rank - 1), height: rank - 3, width: rank - 2 })
        }
        (3 | 4, None) if !is_channels(rank - 3) && is_channels(rank - 1) => axes(ty, Some(ImageLayout::Nhwc)),
        (3 | 4, _) => Some(Axes { channels: Some(rank - 3), height: rank - 2, width: rank - 1 }),
        _ => None,
    }
}

fn tensor(picture: &DynamicImage, ty: &TensorType, args: &ImageArgs) -> Result<HostTensor> {
    let refuse = |what: String| Error::new(Code::InputType, what);
    let Some(axes) = axes(ty, args.layout) else {
        return Err(refuse(format!("an image does not fit {ty}"))
            .help("an image is [height, width], with channels before or after, and a batch of 1"));
    };
    if ty.rank() == 4 && ty.shape[0].as_const().is_some_and(|n| n != 1) {
        return Err(refuse(format!("one image does not fit {ty}, which takes a batch")));
    }
    let size =
        |axis: usize, own: u32| ty.shape[axis].as_const().and_then(|n| u32::try_from(n).ok()).unwrap_or(own);
    let (height, width) = (size(axes.height, picture.height()), size(axes.width, picture.width()));
    let channels = axes.channels.map_or(Some(1), |a| ty.shape[a].as_const()).unwrap_or(3);
    let rgb = picture.to_rgb8();
    let rgb = if (height, width) == (picture.height(), picture.width()) {
        rgb
    } else {
        imageops::resize(&rgb, width, height, FilterType::Triangle)
    };
    let planes: Vec<Vec<f64>> = match channels {
        3 => (0..3).map(|c| rgb.pixels().map(|p| f64::from(p.0[c])).collect()).collect(),
        1 => {
            let luma = DynamicImage::ImageRgb8(rgb).to_luma8();
            vec![luma.pixels().map(|p| f64::from(p.0[0])).collect()]
        }
        n => return Err(refuse(format!("an image has 1 or 3 channels, the input {n}"))),
    };
    let of = |list: &[f64], c: usize, default: f64| match list {
        [] => default,
        [one] => *one,
        list => list.get(c).copied().unwrap_or(default),
    };
    let scaled = |c: usize, v: f64| match ty.dtype.is_float() {
        true => (v / 255.0 - of(&args.mean, c, 0.0)) / of(&args.std, c, 1.0),
        false => v,
    };
    let (h, w) = (height as usize, width as usize);
    let mut sizes = vec![1usize; ty.rank()];
    (sizes[axes.height], sizes[axes.width]) = (h, w);
    if let Some(axis) = axes.channels {
        sizes[axis] = planes.len();
    }
    let last = axes.channels.is_some_and(|c| c > axes.width);
    let at = |i: usize| if last { (i % planes.len(), i / planes.len()) } else { (i / (h * w), i % (h * w)) };
    let elements: Vec<f64> = (0..planes.len() * h * w)
        .map(|i| {
            let (c, p) = at(i);
            scaled(c, planes[c][p])
        })
        .collect();
    debug_assert!(ty.shape.iter().all(|d: &Dim| !d.is_overflow()));
    match ty.dtype.is_float() {
        true => HostTensor::from_floats(ty.dtype, &sizes, &elements),
        false => {
            let whole: Vec<i128> = elements.iter().map(|v| *v as i128).collect();
            HostTensor::from_ints(ty.dtype, &sizes, &whole)
        }
    }
}
