//! A picture with more light in it than a display has: balls on a chequered ground before a low sun, traced by rays.
//!
//! Nothing comes in but the size; goes out: the light of each pixel, from a few thousandths in shadows to a hundred in the sun.

type Vector = [f32; 3];

/// A ball.
struct Ball {
    centre: Vector,
    radius: f32,
    colour: Vector,
    /// How much of the light it mirrors.
    mirrors: f32,
    /// How much it shines by itself.
    shines: f32,
}

const BALLS: [Ball; 6] = [
    Ball { centre: [-2.1, 1.0, 6.2], radius: 1.0, colour: [0.85, 0.12, 0.08], mirrors: 0.06, shines: 0.0 },
    Ball { centre: [0.2, 1.35, 7.6], radius: 1.35, colour: [0.9, 0.92, 0.95], mirrors: 0.85, shines: 0.0 },
    Ball { centre: [2.5, 0.85, 6.0], radius: 0.85, colour: [0.08, 0.25, 0.8], mirrors: 0.1, shines: 0.0 },
    Ball { centre: [-0.7, 0.4, 4.6], radius: 0.4, colour: [0.95, 0.7, 0.15], mirrors: 0.3, shines: 0.0 },
    Ball { centre: [1.1, 0.3, 4.4], radius: 0.3, colour: [0.2, 0.75, 0.3], mirrors: 0.05, shines: 0.0 },
    Ball { centre: [-3.6, 0.45, 5.2], radius: 0.45, colour: [1.0, 0.45, 0.12], mirrors: 0.0, shines: 14.0 },
];

const EYE: Vector = [0.0, 1.5, -1.2];
const SUN: Vector = [0.42, 0.33, 0.845];
const SUNLIGHT: Vector = [5.2, 4.0, 2.7];

fn add(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn sub(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn scale(a: Vector, by: f32) -> Vector {
    a.map(|x| x * by)
}

fn times(a: Vector, b: Vector) -> Vector {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn unit(a: Vector) -> Vector {
    scale(a, 1.0 / dot(a, a).sqrt())
}

/// Where a ray first meets a ball or the ground (`None` in its place), if it does.
fn meets(from: Vector, along: Vector) -> Option<(f32, Option<&'static Ball>)> {
    let mut nearest = (along[1] < -1e-4).then(|| (-from[1] / along[1], None));
    for ball in &BALLS {
        let to_eye = sub(from, ball.centre);
        let (half, rest) = (dot(to_eye, along), dot(to_eye, to_eye) - ball.radius * ball.radius);
        let root = half * half - rest;
        if root <= 0.0 {
            continue;
        }
        let distance = -half - root.sqrt();
        if distance > 1e-3 && nearest.is_none_or(|(d, _)| distance < d) {
            nearest = Some((distance, Some(ball)));
        }
    }
    nearest
}

/// The light of the sky: darker above, warm near the sun, and the sun itself.
fn sky(along: Vector) -> Vector {
    let up = along[1].clamp(0.0, 1.0);
    let blue = add(scale([0.75, 0.62, 0.55], (1.0 - up).powi(4)), scale([0.12, 0.26, 0.55], 0.4 + 0.6 * up));
    let towards = dot(along, unit(SUN)).max(0.0);
    let glow = scale([3.2, 1.9, 0.9], towards.powi(24));
    let disc = scale([110.0, 90.0, 60.0], ((towards - 0.9975) / 0.0012).clamp(0.0, 1.0));
    add(add(blue, glow), disc)
}

/// The light that comes back along a ray.
fn light(from: Vector, along: Vector, bounces: u32) -> Vector {
    let Some((distance, ball)) = meets(from, along) else { return sky(along) };
    let at = add(from, scale(along, distance));
    let (normal, colour, mirrors, shines) = match ball {
        Some(b) => (scale(sub(at, b.centre), 1.0 / b.radius), b.colour, b.mirrors, b.shines),
        None => {
            let even = (at[0].floor() + at[2].floor()).rem_euclid(2.0) < 1.0;
            ([0.0, 1.0, 0.0], if even { [0.62, 0.58, 0.5] } else { [0.16, 0.17, 0.2] }, 0.05, 0.0)
        }
    };
    let start = add(at, scale(normal, 1e-3));
    let mut here = scale(colour, shines);
    // From the sun, unless something stands before it; from the lamp, likewise; and from the sky.
    let to_sun = unit(SUN);
    if meets(start, to_sun).is_none() {
        here = add(here, times(colour, scale(SUNLIGHT, dot(normal, to_sun).max(0.0))));
    }
    let lamp = &BALLS[5];
    let to_lamp = sub(lamp.centre, start);
    let far = dot(to_lamp, to_lamp);
    let is_lamp = |b: Option<&Ball>| b.is_some_and(|b| b.shines > 0.0);
    if shines == 0.0 && meets(start, unit(to_lamp)).is_some_and(|(_, b)| is_lamp(b)) {
        let strength = lamp.shines * lamp.radius * lamp.radius * dot(normal, unit(to_lamp)).max(0.0) / far;
        here = add(here, times(colour, scale(lamp.colour, strength)));
    }
    here = add(here, times(colour, scale([0.16, 0.22, 0.34], 0.35 + 0.35 * normal[1])));
    if mirrors == 0.0 || bounces == 0 {
        return here;
    }
    // More at a slant, as all smooth things do.
    let facing = -dot(along, normal);
    let share = mirrors + (1.0 - mirrors) * (1.0 - facing.clamp(0.0, 1.0)).powi(5) * 0.6;
    let onward = sub(along, scale(normal, 2.0 * dot(along, normal)));
    let mirrored = light(start, unit(onward), bounces - 1);
    let tint = if mirrors > 0.5 { colour } else { [1.0; 3] };
    add(scale(here, 1.0 - share), scale(times(mirrored, tint), share))
}

/// A picture as planes of red, green and blue, row by row.
pub fn render(height: usize, width: usize) -> [Vec<f32>; 3] {
    const SIDE: usize = 3;
    let mut planes = [0, 1, 2].map(|_| Vec::with_capacity(height * width));
    for y in 0..height {
        for x in 0..width {
            let mut sum = [0.0; 3];
            for sample in 0..SIDE * SIDE {
                let within = |i: usize| (i as f32 + 0.5) / SIDE as f32;
                let right =
                    (x as f32 + within(sample % SIDE)) / height as f32 - 0.5 * width as f32 / height as f32;
                let up = 0.5 - (y as f32 + within(sample / SIDE)) / height as f32;
                sum = add(sum, light(EYE, unit([right, up - 0.04, 0.95]), 4));
            }
            let mean = scale(sum, 1.0 / (SIDE * SIDE) as f32);
            planes.iter_mut().zip(mean).for_each(|(plane, v)| plane.push(v));
        }
    }
    planes
}
