//! The safetensors format: every 2-dimensional tensor with the common row count is a view.
//!
//! Reads F16, BF16, F32, F64, integers and booleans; a 1-dimensional tensor of whole numbers
//! named `label`, `labels` or `y` holds labels. Only the tensors asked for are read.

use std::io::{Read, Seek, SeekFrom};

use likewise::Monitor;
use safetensors::tensor::{Dtype, Metadata};

use crate::assemble::{Parts, Shape};
use crate::budget::Budget;
use crate::input::{Input, Stream};
use crate::npy::whole_numbers;
use crate::number::{Kind, Number, Progress, append, reserve};
use crate::options::ReadOptions;
use crate::plan::{Array, Plan};
use crate::{Error, Result};

struct Tensors {
    stream: Box<dyn Stream>,
    names: Vec<String>,
    metadata: Metadata,
    /// Position of the first tensor's bytes.
    start: u64,
}

impl Tensors {
    fn open(input: Input) -> Result<Self> {
        let len = input.len;
        let mut stream = input.stream();
        let mut length = [0; 8];
        stream.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        // The format limits headers to 100 MB.
        if length > 100_000_000 || length > len - 8 {
            return Err(Error::format(format!(
                "a header of {length} bytes in a file of {len}; \
                 not a safetensors file, or truncated"
            )));
        }
        let mut header = vec![0; length as usize];
        stream.read_exact(&mut header)?;
        let metadata: Metadata = serde_json::from_slice(&header)
            .map_err(|e| Error::format(format!("the safetensors header is damaged ({e})")))?;
        let start = 8 + length;
        let expected = start.checked_add(metadata.data_len() as u64);
        if expected != Some(len) {
            return Err(Error::format(format!(
                "the tensors need {} bytes, but there are {}; \
                 the file is truncated or its header is wrong, fetch or write it again",
                metadata.data_len(),
                len - start
            )));
        }
        Ok(Self {
            stream,
            names: metadata.offset_keys(),
            metadata,
            start,
        })
    }

    fn arrays(&self) -> Vec<Array> {
        let array = |name: &String| {
            let info = self.metadata.info(name);
            let number = info.and_then(|i| number(i.dtype));
            let shape = match (info, number) {
                (Some(info), Some(_)) => info.shape.as_slice(),
                _ => &[],
            };
            Array {
                name: name.clone(),
                matrix: match shape {
                    &[rows, columns] => Some((rows, columns)),
                    _ => None,
                },
                list: match shape {
                    &[n] | &[n, 1] => Some(n),
                    _ => None,
                },
                shape: shape.to_vec(),
                stored: info.map_or_else(String::new, |info| {
                    format!("shape {:?} of {:?}", info.shape, info.dtype)
                }),
            }
        };
        self.names.iter().map(array).collect()
    }

    /// Moves to the tensor at this position; returns how it is stored.
    fn seek(&mut self, tensor: usize) -> Result<(Number, usize)> {
        let info = self.names.get(tensor).and_then(|n| self.metadata.info(n));
        let info = info.ok_or_else(|| Error::format("the safetensors header is damaged"))?;
        let number = number(info.dtype)
            .ok_or_else(|| Error::format(format!("tensors of {:?} cannot be read", info.dtype)))?;
        let (first, end) = info.data_offsets;
        self.stream
            .seek(SeekFrom::Start(self.start + first as u64))?;
        Ok((number, (end - first) / number.size()))
    }
}

fn number(dtype: Dtype) -> Option<Number> {
    let kind = match dtype {
        Dtype::BOOL => Kind::Bool,
        Dtype::U8 => Kind::U8,
        Dtype::I8 => Kind::I8,
        Dtype::I16 => Kind::I16,
        Dtype::U16 => Kind::U16,
        Dtype::F16 => Kind::F16,
        Dtype::BF16 => Kind::Bf16,
        Dtype::I32 => Kind::I32,
        Dtype::U32 => Kind::U32,
        Dtype::F32 => Kind::F32,
        Dtype::F64 => Kind::F64,
        Dtype::I64 => Kind::I64,
        Dtype::U64 => Kind::U64,
        _ => return None,
    };
    Some(Number {
        kind,
        big_endian: false,
    })
}

pub(crate) fn shape(input: Input, options: &ReadOptions) -> Result<Shape> {
    let tensors = Tensors::open(input)?;
    Ok(Plan::new(&tensors.arrays(), options, &Monitor::silent())?.shape())
}

pub(crate) fn read(input: Input, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    let mut tensors = Tensors::open(input)?;
    let plan = Plan::new(&tensors.arrays(), options, monitor)?;
    let mut budget = Budget::new(options.max_memory);
    for view in &plan.views {
        budget.matrix(plan.rows, view.columns)?;
    }
    budget.items(plan.rows)?;
    let mut progress = Progress::new(monitor);
    let mut parts = Parts::default();
    plan.name_parts(&mut parts);
    for view in &plan.views {
        let mut values = Vec::new();
        for &tensor in &view.arrays {
            let (number, count) = tensors.seek(tensor)?;
            reserve(&mut values, count)?;
            let stream = &mut *tensors.stream;
            append(stream, number, count, &mut progress, &mut values)?;
        }
        parts.add_view(&view.name, plan.rows, view.columns, values)?;
    }
    plan.read_lists(&mut parts, options, monitor, |tensor| {
        let name = tensors.names[tensor].clone();
        let (number, count) = tensors.seek(tensor)?;
        let stream = &mut *tensors.stream;
        whole_numbers(stream, number, count, &mut budget, &mut progress)
            .map_err(|e| e.within(format!("tensor {name}")))
    })?;
    Ok(parts)
}
