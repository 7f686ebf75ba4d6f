//! Where networks run, and whether they can.

#[cfg(feature = "networks")]
pub use burn::tensor::Device;
use likewise::error::Hint;

use crate::{Error, ErrorKind, Result};

/// Where networks run: in a build without them it stands for the processor.
#[cfg(not(feature = "networks"))]
#[derive(Debug, Clone)]
pub struct Device(());

#[cfg(not(feature = "networks"))]
impl Device {
    /// The processor.
    pub fn flex() -> Self {
        Self(())
    }
}

/// Fails in a build without the feature `networks`: `what` needs them.
///
/// ```
/// assert!(likewise_nn::networks("a recipe by gradients").is_ok());
/// ```
pub fn networks(what: &str) -> Result<()> {
    if cfg!(feature = "networks") {
        return Ok(());
    }
    let message = format!("{what} needs networks, and this program was built without them");
    Err(Error::new(ErrorKind::Parameter, message).hint(Hint::BuildNetworks))
}

/// Opens a device by its name: `cpu`, or, built with the cargo feature `vulkan`, `vulkan` (the
/// fastest card) or `vulkan:N` (card N of its own memory, from 0).
///
/// Vulkan runs on the cards of all makers. A card adds up in another order than the CPU: results
/// agree to rounding, not to the bit. Drivers differ: a card whose products of small matrices are
/// wrong is refused.
///
/// Open a device once and clone it. Fails on unknown names, on `vulkan` in a build without it,
/// and where there is no such card, no driver, or one that computes wrongly.
///
/// ```
/// assert!(likewise_nn::device("cpu").is_ok());
/// assert!(likewise_nn::device("abacus").is_err());
/// ```
pub fn device(name: &str) -> Result<Device> {
    let (api, card) = match name.split_once(':') {
        Some((api, card)) => (api, Some(card)),
        None => (name, None),
    };
    match (api, card.map(str::parse::<usize>)) {
        ("cpu", None) => Ok(Device::flex()),
        ("vulkan", None) => vulkan(name, None),
        ("vulkan", Some(Ok(card))) => vulkan(name, Some(card)),
        _ => Err(Error::parameter(
            "device",
            name,
            "must be cpu, vulkan, or vulkan:N for card N, from 0",
        )),
    }
}

#[cfg(feature = "vulkan")]
fn vulkan(name: &str, card: Option<usize>) -> Result<Device> {
    use burn::tensor::DeviceKind;
    use burn::tensor::wgpu::WgpuBackend;

    let kind = card.map_or(DeviceKind::DefaultDevice, DeviceKind::DiscreteGpu);
    let options = Device::wgpu_options().graphics_api(WgpuBackend::Vulkan);
    let device = options.device_kind(kind).init().map_err(|e| {
        let rule = format!("cannot be opened: install the card's Vulkan driver, or use cpu ({e})");
        Error::parameter("device", name, &rule)
    })?;
    if !multiplies(&device) {
        let rule = "computes wrongly: update the card's Vulkan driver, or use cpu";
        return Err(Error::parameter("device", name, rule));
    }
    Ok(device)
}

/// Whether small products of matrices come out right, which they have not with every driver.
#[cfg(feature = "vulkan")]
fn multiplies(device: &Device) -> bool {
    use crate::net::{matrix_tensor, to_matrix};

    [(7, 5), (40, 24), (128, 64)].into_iter().all(|(n, d)| {
        let x = ndarray::Array2::from_shape_fn((n, d), |(i, j)| ((i * 7 + j * 5) % 11) as f32);
        let t = matrix_tensor(&x, device);
        let across = to_matrix(t.clone().matmul(t.clone().transpose()));
        let along = to_matrix(t.clone().transpose().matmul(t));
        // Sums of small whole numbers are exact in any order.
        across == x.dot(&x.t()) && along == x.t().dot(&x)
    })
}

#[cfg(not(feature = "vulkan"))]
fn vulkan(name: &str, _card: Option<usize>) -> Result<Device> {
    networks("a graphics card").map_err(|e| e.hint(Hint::BuildVulkan))?;
    let rule = "is not in this build; use cpu";
    Err(Error::parameter("device", name, rule).hint(Hint::BuildVulkan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        assert!(!device("cpu").unwrap().is_autodiff());
        for wrong in [
            "",
            "gpu",
            "cpu:0",
            "cpu:",
            "vulkan:",
            "vulkan:x",
            "vulkan:-1",
            "cuda:0",
        ] {
            let said = device(wrong).unwrap_err().to_string();
            assert!(said.contains("vulkan:N"), "{said}");
        }
    }

    #[cfg(not(feature = "vulkan"))]
    #[test]
    fn a_build_without_cards_says_so() {
        let error = device("vulkan").unwrap_err();
        assert!(error.to_string().contains("not in this build"), "{error}");
        assert_eq!(error.what_to_do(), Some(Hint::BuildVulkan));
    }
}
