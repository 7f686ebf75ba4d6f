//! Peaks in place and scale, and the vertex near one.

/// Whether no neighbour is more extreme than `value`; of equals the first counts. `at` gives the
/// value so many pixels across, down and steps of scale away.
pub(super) fn is_peak(at: impl Fn(isize, isize, isize) -> f32, value: f32) -> bool {
    let sign = value.signum();
    let value = value * sign;
    // Its own step first: there most fail.
    [0, -1, 1].into_iter().all(|step| {
        (-1..=1).all(|down| {
            (-1..=1).all(|across| {
                let other = at(across, down, step) * sign;
                let earlier = [step, down, across] < [0; 3];
                value > other || (!earlier && value >= other)
            })
        })
    })
}

/// First and second derivatives across, down and over the scales.
pub(super) fn derivatives(at: impl Fn(isize, isize, isize) -> f32) -> ([f32; 3], [[f32; 3]; 3]) {
    let twice = 2.0 * at(0, 0, 0);
    let gradient = [
        0.5 * (at(1, 0, 0) - at(-1, 0, 0)),
        0.5 * (at(0, 1, 0) - at(0, -1, 0)),
        0.5 * (at(0, 0, 1) - at(0, 0, -1)),
    ];
    let xx = at(1, 0, 0) + at(-1, 0, 0) - twice;
    let yy = at(0, 1, 0) + at(0, -1, 0) - twice;
    let ss = at(0, 0, 1) + at(0, 0, -1) - twice;
    let xy = 0.25 * (at(1, 1, 0) - at(-1, 1, 0) - at(1, -1, 0) + at(-1, -1, 0));
    let xs = 0.25 * (at(1, 0, 1) - at(-1, 0, 1) - at(1, 0, -1) + at(-1, 0, -1));
    let ys = 0.25 * (at(0, 1, 1) - at(0, -1, 1) - at(0, 1, -1) + at(0, -1, -1));
    (gradient, [[xx, xy, xs], [xy, yy, ys], [xs, ys, ss]])
}

/// Where the paraboloid of these derivatives has its vertex; none where it has none.
pub(super) fn vertex(gradient: [f32; 3], hessian: &[[f32; 3]; 3]) -> Option<[f32; 3]> {
    let determinant = |a: [f32; 3], b: [f32; 3], c: [f32; 3]| {
        let [a, b, c] = [a, b, c].map(|v| v.map(f64::from));
        a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
            + a[2] * (b[0] * c[1] - b[1] * c[0])
    };
    // Cramer's rule; of a symmetric matrix the rows are the columns.
    let [a, b, c] = *hessian;
    let right = gradient.map(|g| -g);
    let whole = determinant(a, b, c);
    let solution = [
        determinant(right, b, c),
        determinant(a, right, c),
        determinant(a, b, right),
    ];
    let solution = solution.map(|part| (part / whole) as f32);
    solution.iter().all(|v| v.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vertex_of_a_paraboloid() {
        let value = |x: isize, y: isize, s: isize| {
            let (x, y, s) = (x as f32 - 0.3, y as f32 + 0.2, s as f32 - 0.1);
            5.0 - x * x - 2.0 * y * y - s * s + 0.5 * x * y - 0.4 * y * s
        };
        let (gradient, hessian) = derivatives(value);
        let found = vertex(gradient, &hessian).unwrap();
        let expected = [0.3, -0.2, 0.1];
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-5)
        );
        assert!(vertex([1.0; 3], &[[0.0; 3]; 3]).is_none());
        assert!(is_peak(value, value(0, 0, 0)));
        assert!(is_peak(|x, y, s| -value(x, y, s), -value(0, 0, 0)));
    }

    #[test]
    fn of_two_equal_neighbours_one_is_the_peak() {
        let at = |x: isize, wide: isize| f32::from(u8::from((0..=1).contains(&(x + wide))));
        // The left of the two, and the right one.
        assert!(is_peak(
            |x, y, s| if (y, s) == (0, 0) { at(x, 0) } else { 0.0 },
            1.0
        ));
        assert!(!is_peak(
            |x, y, s| if (y, s) == (0, 0) { at(x, 1) } else { 0.0 },
            1.0
        ));
    }
}
