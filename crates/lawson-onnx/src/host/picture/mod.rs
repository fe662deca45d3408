//! Pictures, decoded from the bytes of a file: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF and WebP.
//!
//! What a header says of sizes is looked at before anything is allocated for it.

mod jpeg;

use super::{number, tensor};
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use lawson_graph::{Code, DType, Error, HostTensor, Result, Value};
use std::io::Cursor;

/// The most samples of a picture: what a camera makes, not what a header of a few bytes may ask for.
const MAX_SAMPLES: usize = 1 << 27;

/// A picture as red, green and blue, row by row.
struct Picture {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

/// Why bytes are no picture.
#[derive(Debug)]
enum Unread {
    /// What decoders make nothing of.
    Undecodable,
    /// More samples than are decoded.
    TooLarge,
}

/// Operands: the bytes of a file, and how pixels are wanted (0 red green blue, 1 blue green red, 2 grey). Result: rows of pixels, none
/// where the bytes cannot be decoded, as the standard says.
pub(super) fn decode(operands: &[Value]) -> Result<Vec<Value>> {
    let (data, order) = (tensor(operands, 0)?, number(operands, 1)?);
    if data.dtype() != DType::U8 {
        return Err(Error::new(Code::HostCall, format!("a picture is bytes, u8, not {}", data.dtype())));
    }
    let Picture { width, height, mut rgb } = match read(data.bytes()) {
        Ok(picture) => picture,
        Err(Unread::Undecodable) => Picture { width: 0, height: 0, rgb: Vec::new() },
        Err(Unread::TooLarge) => {
            let what = format!(
                "the picture has more than {MAX_SAMPLES} samples: decode it before the model, or make it smaller"
            );
            return Err(Error::new(Code::HostCall, what));
        }
    };
    if order == 1 {
        rgb.chunks_exact_mut(3).for_each(|p| p.swap(0, 2));
    }
    let (samples, channels) = if order == 2 { (grey(&rgb), 1) } else { (rgb, 3) };
    Ok(vec![HostTensor::from_slice(&[height, width, channels], &samples)?.into()])
}

/// The brightness that ITU-R BT.601 gives colours, by factors with 16 bits after the point.
fn grey(rgb: &[u8]) -> Vec<u8> {
    let of = |p: &[u8]| 19595 * u32::from(p[0]) + 38470 * u32::from(p[1]) + 7471 * u32::from(p[2]);
    rgb.chunks_exact(3).map(|p| ((of(p) + 0x8000) >> 16) as u8).collect()
}

fn read(bytes: &[u8]) -> std::result::Result<Picture, Unread> {
    match image::guess_format(bytes) {
        Ok(ImageFormat::Jpeg) => jpeg::decode(bytes, MAX_SAMPLES),
        Ok(format) => by_library(bytes, format),
        Err(_) => jpeg_2000(bytes),
    }
}

fn by_library(bytes: &[u8], format: ImageFormat) -> std::result::Result<Picture, Unread> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(4 * MAX_SAMPLES as u64);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(|_| Unread::Undecodable)?;
    check(decoder.dimensions())?;
    let rgb = DynamicImage::from_decoder(decoder).map_err(|_| Unread::Undecodable)?.into_rgb8();
    Ok(Picture { width: rgb.width() as usize, height: rgb.height() as usize, rgb: rgb.into_raw() })
}

fn check((width, height): (u32, u32)) -> std::result::Result<(), Unread> {
    match 3 * u64::from(width) * u64::from(height) <= MAX_SAMPLES as u64 {
        true => Ok(()),
        false => Err(Unread::TooLarge),
    }
}

fn jpeg_2000(bytes: &[u8]) -> std::result::Result<Picture, Unread> {
    use hayro_jpeg2000::{ColorSpace, Image};
    let picture = Image::new(bytes, &Default::default()).map_err(|_| Unread::Undecodable)?;
    check((picture.width(), picture.height()))?;
    let samples = picture.decode().map_err(|_| Unread::Undecodable)?;
    let channels = match picture.color_space() {
        ColorSpace::Gray => 1,
        ColorSpace::RGB => 3,
        ColorSpace::CMYK => return Err(Unread::Undecodable),
        ColorSpace::Unknown { num_channels } | ColorSpace::Icc { num_channels, .. } => {
            usize::from(*num_channels)
        }
    };
    let each = channels + usize::from(picture.has_alpha());
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    if !matches!(channels, 1 | 3) || samples.len() != each * width * height {
        return Err(Unread::Undecodable);
    }
    let pixel = |p: &[u8]| if channels == 1 { [p[0]; 3] } else { [p[0], p[1], p[2]] };
    Ok(Picture { width, height, rgb: samples.chunks_exact(each).flat_map(pixel).collect() })
}
