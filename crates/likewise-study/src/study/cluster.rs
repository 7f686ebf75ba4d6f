//! Pseudo-labels from clusters of the items.

use likewise::eval::kmeans::{Clustering, KMeans};
use likewise::learn::Targets;
use likewise::linear::whitening::Spectrum;
use likewise::{Labels, Monitor, matrix, seed};
use likewise_nn::Model;
use ndarray::{Array2, ArrayView2};
use rand::RngExt;

use super::ground::Ground;
use super::setup::Setup;
use crate::recipe::{Clusters, InClusters, On};
use crate::{Error, Result};

/// Shrinkage of the whitening: next to none, but above rounding.
const WHITE: f64 = 1e-6;

/// Items for each direction that is whitened: as many directions as items would leave all of these
/// equally far from each other.
const EACH: usize = 10;

impl Ground<'_> {
    /// What is learned from epoch `since` on: clusters of the rows that `model` makes, or of the start.
    pub(super) fn cluster(
        &self,
        how: &Clusters,
        setup: &Setup,
        known: &Labels,
        since: usize,
        model: Option<&Model>,
        monitor: &Monitor,
    ) -> Result<Targets> {
        let embedded;
        let rows = match model {
            Some(model) => {
                embedded = self.embed(model, &setup.rows, &self.train, monitor)?;
                embedded.view()
            }
            None => setup.rows.view(),
        };
        let found = clustered(how, rows, known, (setup.seed, since), monitor)?;
        Ok(Targets {
            // In the first epoch everything begins.
            since: if since > 1 { since } else { 0 },
            ..of_clusters(&found, known, how.labels)
        })
    }
}

/// K-means that begin, of clusters that stay as they are: the best is taken. Others are found anew soon.
const STARTS: usize = 20;

/// The clusters of some rows; `since` is the first epoch that learns them.
pub(super) fn clustered(
    how: &Clusters,
    rows: ArrayView2<f32>,
    known: &Labels,
    (seed, since): (u64, usize),
    monitor: &Monitor,
) -> Result<Clustering> {
    let (n, columns) = rows.dim();
    let clusters = how.count(n, known.n_classes());
    if clusters > n {
        let rule = format!("must be at most the number of items to fit on, {n}");
        return Err(Error::parameter("pseudo_labels.clusters", clusters, &rule));
    }
    let (spectrum, _) = Spectrum::fit_sound(rows, false)?;
    let dim = how.dim.min(columns).min((n / EACH).max(1));
    let map = spectrum.truncated(WHITE, dim)?;
    let whitened: Array2<f32> = matrix::l2_normalize(map.transform(rows)?);
    let mut rng = seed::stream(seed, &format!("clusters {since}"));
    let clustering = KMeans::new(clusters)
        .n_init(if how.on == On::Start { STARTS } else { 1 })
        .max_iterations(how.iterations)
        .sample(n)
        .seed(rng.random())
        .fit(whitened.view(), &monitor.quiet())?;
    Ok(clustering)
}

/// Clusters as classes, all items alike.
pub(super) fn of_clusters(found: &Clustering, known: &Labels, labels: InClusters) -> Targets {
    let clusters = found.centroids.nrows();
    let class = match labels {
        InClusters::Judge => found.cluster.clone(),
        InClusters::Name => {
            let names = names(&found.cluster, clusters, known);
            let of = |(item, &cluster): (usize, &u32)| {
                known[item].class().unwrap_or(names[cluster as usize])
            };
            found.cluster.iter().enumerate().map(of).collect()
        }
    };
    Targets {
        class,
        weight: vec![1.0; known.len()],
        labeled: (known.items().iter())
            .map(|label| label.class().is_some())
            .collect(),
        passes: 1,
        triplets: None,
        since: 0,
    }
}

/// The class of each cluster: that of most of its labeled items, of several the first; without any, one
/// of its own behind those of the labels.
fn names(cluster: &[u32], clusters: usize, known: &Labels) -> Vec<u32> {
    let classes = known.n_classes();
    let mut counts = Array2::<usize>::zeros((clusters, classes));
    for (item, &cluster) in cluster.iter().enumerate() {
        if let Some(class) = known[item].class() {
            counts[(cluster as usize, class as usize)] += 1;
        }
    }
    let name = |cluster: usize| {
        let counts = counts.row(cluster);
        let most = (0..classes).reduce(|best, c| if counts[c] > counts[best] { c } else { best });
        let named = most.filter(|&class| counts[class] > 0);
        named.unwrap_or(classes + cluster) as u32
    };
    (0..clusters).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clouds() -> Array2<f32> {
        Array2::from_shape_fn((60, 3), |(i, j)| {
            f32::from(u8::from(i % 3 == j)) * 5.0 + ((i * 13 + j * 7) % 11) as f32 / 11.0
        })
    }

    #[test]
    fn clusters_are_the_clouds_and_each_clustering_starts_anew() {
        let x = matrix::l2_normalize(clouds());
        let how = Clusters {
            clusters: Some(3),
            ..Clusters::default()
        };
        let known = Labels::unknown(60);
        let silent = Monitor::silent();
        let at = |since: usize| clustered(&how, x.view(), &known, (1, since), &silent).unwrap();
        let found = at(1);
        assert!((3..60).all(|i| found.cluster[i] == found.cluster[i % 3]));
        assert_eq!(found.cluster, at(1).cluster);
        let others = Clusters {
            clusters: Some(12),
            ..how.clone()
        };
        let at = |since: usize| {
            clustered(&others, x.view(), &known, (1, since), &silent)
                .unwrap()
                .cluster
        };
        assert_ne!(at(1), at(2));
        let mut seen = at(1);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 12, "no cluster is empty");
        // The same on one thread and on two.
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| at(1))
        };
        assert_eq!(on(1), on(2));
        let many = Clusters {
            clusters: Some(61),
            ..how
        };
        let said = clustered(&many, x.view(), &known, (1, 1), &silent).unwrap_err();
        assert!(
            said.to_string()
                .contains("pseudo_labels.clusters = 61: must be at most")
        );
    }

    #[test]
    fn labels_judge_or_name() {
        // Clusters 0: two of a, one of b; 1: no label; 2: one of b; 3: one of each.
        let known = Labels::parse(["a", "a", "b", "", "", "b", "", "a", "b", ""]);
        let found = Clustering {
            cluster: vec![0, 0, 0, 0, 1, 2, 2, 3, 3, 3],
            centroids: Array2::zeros((4, 2)),
            inertia: 0.0,
            iterations: 1,
        };
        let judged = of_clusters(&found, &known, InClusters::Judge);
        assert_eq!(judged.class, found.cluster);
        assert_eq!(judged.weight, [1.0; 10]);
        let labeled = judged.labeled.iter().filter(|&&labeled| labeled).count();
        assert_eq!(labeled, 6);
        let named = of_clusters(&found, &known, InClusters::Name);
        assert_eq!(named.class, [0, 0, 1, 0, 3, 1, 1, 0, 1, 0]);
        let none = of_clusters(&found, &Labels::unknown(10), InClusters::Name);
        assert_eq!(none.class, found.cluster);
    }

    #[test]
    fn how_many_clusters() {
        let how = Clusters::default();
        assert_eq!(how.count(2000, 10), 30);
        assert_eq!(how.count(2000, 0), 44);
        assert_eq!(how.count(2000, 1), 44);
        assert_eq!(how.count(20, 10), 20);
        let given = Clusters {
            clusters: Some(7),
            ..how
        };
        assert_eq!(given.count(5, 10), 7);
    }
}
