//! What the rows of the machine are called.

use super::tree::{Item, Part};
use crate::app::App;

/// Cells that the name of a row cannot do without.
pub fn least_label_cells(item: &Item) -> usize {
    match item.part {
        Part::Rail(_) | Part::Gpu(_) => 24,
        Part::Root | Part::Switch | Part::Lost(_) => 10 + short(item.address).len(),
    }
}

/// The usual domain goes without saying.
fn short(address: &str) -> &str {
    address.strip_prefix("0000:").unwrap_or(address)
}

/// What it is called: a rail by device and netdev, everything else by its PCI address; with the root port it hangs on, where that is to be told.
pub fn name(app: &App, item: &Item, root: Option<&str>) -> String {
    let topology = app.shown().topology();
    let address = short(item.address);
    let behind = root.map(|root| format!(" on {}", short(root))).unwrap_or_default();
    match item.part {
        Part::Root => format!("root port {address}"),
        Part::Switch => format!("switch {address}"),
        Part::Rail(id) => {
            let rail = &topology.rails[id.0];
            let port = if rail.port > 1 { format!(":{}", rail.port) } else { String::new() };
            let address =
                if address.is_empty() { " no PCI function".to_owned() } else { format!(" {address}") };
            format!("{}{port}{address}{behind}", rail.device)
        }
        Part::Gpu(at) => {
            let gpu = &topology.gpus[at];
            let model = gpu.model.as_deref().map(|model| format!(" {model}")).unwrap_or_default();
            format!("{} {address}{model}{behind}", gpu.name)
        }
        Part::Lost(_) => format!("card {address}: no RDMA device"),
    }
}

/// What tells it from its like: the device, the GPU, the PCI address.
pub fn bare_name(app: &App, item: &Item) -> String {
    let topology = app.shown().topology();
    match item.part {
        Part::Rail(id) => topology.rails[id.0].device.clone(),
        Part::Gpu(at) => topology.gpus[at].name.clone(),
        Part::Root | Part::Switch | Part::Lost(_) => short(item.address).to_owned(),
    }
}

/// The rails that are nearest to a GPU, with how near: `PIX mlx5_0`.
pub fn nearest(app: &App, gpu: usize) -> String {
    let gpu = &app.shown().topology().gpus[gpu];
    let paths = || gpu.paths.iter().filter_map(|path| Some((path.class?, path.device.as_str())));
    let Some(class) = paths().map(|(class, _)| class).min() else { return String::new() };
    let devices: Vec<&str> = paths().filter(|(other, _)| *other == class).map(|(_, device)| device).collect();
    format!("{} {}", class.word(), devices.join(", "))
}
