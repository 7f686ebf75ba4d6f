//! Gradients of all parameters together: their length, and parts of them.

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use crate::net::value_of;

/// Length of the gradients of some modules, as of one long vector.
pub(crate) fn length<M: Module>(parts: &[(&M, &GradientsParams)]) -> f64 {
    let squares = parts.iter().map(|(module, gradients)| {
        let mut squares = Squares {
            gradients,
            sum: 0.0,
        };
        module.visit(&mut squares);
        squares.sum
    });
    squares.sum::<f64>().sqrt()
}

struct Squares<'a> {
    gradients: &'a GradientsParams,
    sum: f64,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            self.sum += value_of(&gradient.square().sum());
        }
    }
}

/// Takes the gradients of the parameters `ids` out, each times `factor`.
pub(crate) fn take<M: Module>(
    module: &M,
    gradients: &mut GradientsParams,
    ids: &[ParamId],
    factor: f64,
) -> GradientsParams {
    let mut take = Take {
        from: gradients,
        to: GradientsParams::new(),
        ids,
        factor,
    };
    module.visit(&mut take);
    take.to
}

struct Take<'a> {
    from: &'a mut GradientsParams,
    to: GradientsParams,
    ids: &'a [ParamId],
    factor: f64,
}

impl ModuleVisitor for Take<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !self.ids.contains(&param.id) {
            return;
        }
        if let Some(gradient) = self.from.remove::<D>(param.id) {
            self.to.register(param.id, gradient.mul_scalar(self.factor));
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::{Device, Tensor};

    use super::*;

    #[test]
    fn lengths_and_parts_by_hand() {
        let device = Device::flex().autodiff();
        let layer: Linear = LinearConfig::new(2, 1).init(&device);
        // y = w x + b at x = (3, 4): dy/dw = (3, 4), dy/db = 1.
        let x = Tensor::<2>::from_floats([[3.0, 4.0]], &device);
        let mut gradients = layer.forward(x).sum().backward();
        let mut gradients = GradientsParams::from_module(&mut gradients, &layer);
        assert!((length(&[(&layer, &gradients)]) - 26.0_f64.sqrt()).abs() < 1e-6);
        let taken = take(&layer, &mut gradients, &[layer.weight.id], 2.0);
        assert!((length(&[(&layer, &taken)]) - 10.0).abs() < 1e-6);
        assert!((length(&[(&layer, &gradients)]) - 1.0).abs() < 1e-6);
    }
}
