//! State as bytes, field after field. A library for any format makes code of it that is a sixth of the component.

/// What can be written to bytes and read from them.
pub trait Persist: Sized {
    /// Adds it to some bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// Takes it from the beginning of some bytes; none if they hold something else.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// Implements [`Persist`] for a struct, by its fields. Those behind a semicolon are not kept, and have a value of their own.
macro_rules! persist {
    ($type:ident { $($field:ident),+ $(; $other:ident: $value:expr)? }) => {
        impl $crate::persist::Persist for $type {
            fn write(&self, out: &mut Vec<u8>) {
                $($crate::persist::Persist::write(&self.$field, out);)+
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                $(let $field = $crate::persist::Persist::read(bytes)?;)+
                Some(Self { $($field,)+ $($other: $value)? })
            }
        }
    };
}
pub(crate) use persist;

impl Persist for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(Self::from_le_bytes(*number))
    }
}

impl Persist for u32 {
    fn write(&self, out: &mut Vec<u8>) {
        u64::from(*self).write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        u64::read(bytes)?.try_into().ok()
    }
}

impl Persist for u8 {
    fn write(&self, out: &mut Vec<u8>) {
        u64::from(*self).write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        u64::read(bytes)?.try_into().ok()
    }
}

impl Persist for bool {
    fn write(&self, out: &mut Vec<u8>) {
        u64::from(*self).write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        match u64::read(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Persist for Vec<u8> {
    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u64).write(out);
        out.extend_from_slice(self);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::read(bytes)?).ok()?;
        let (text, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(text.to_vec())
    }
}

impl Persist for String {
    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u64).write(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Persist::read(bytes)?).ok()
    }
}

impl Persist for Box<str> {
    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u64).write(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        String::read(bytes).map(Self::from)
    }
}

impl<T: Persist + Default> Persist for Box<T> {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        T::read(bytes).map(Self::new)
    }
}

impl<T: Persist> Persist for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        match bool::read(bytes)? {
            true => T::read(bytes).map(Some),
            false => Some(None),
        }
    }
}

impl<T: Persist, U: Persist> Persist for (T, U) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Some((T::read(bytes)?, U::read(bytes)?))
    }
}

/// Writes a list. It is a function, since a list of bytes is written in another way.
pub fn write_list<T: Persist>(list: &[T], out: &mut Vec<u8>) {
    (list.len() as u64).write(out);
    list.iter().for_each(|element| element.write(out));
}

/// Reads a list of at most so many elements.
pub fn read_list<T: Persist>(bytes: &mut &[u8], most: usize) -> Option<Vec<T>> {
    let length = usize::try_from(u64::read(bytes)?).ok().filter(|length| *length <= most)?;
    // Each takes a byte at least: a length that is a lie reserves nothing.
    (length <= bytes.len()).then_some(())?;
    (0..length).map(|_| T::read(bytes)).collect()
}
