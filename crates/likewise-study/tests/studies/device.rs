//! Where tests run: on the CPU, or on the device that `LIKEWISE_TEST_DEVICE` names.

use std::sync::OnceLock;

use likewise_nn::Device;

/// The device, opened once.
pub(crate) fn chosen() -> Device {
    static OPEN: OnceLock<Device> = OnceLock::new();
    let open = || {
        let name = std::env::var("LIKEWISE_TEST_DEVICE").unwrap_or_else(|_| "cpu".into());
        likewise_nn::device(&name).unwrap_or_else(|e| panic!("{e}"))
    };
    OPEN.get_or_init(open).clone()
}
