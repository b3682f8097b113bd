//! State as bytes, field after field. A library for any format makes code of it that is a sixth of the component.

/// What can be written to bytes and read from them.
pub trait Persist {
    /// Adds it to some bytes.
    fn write(&self, sink: &mut Sink);

    /// Takes it from the beginning of some bytes. If they hold something else, the source says so in the end.
    fn read(source: &mut Source<'_>) -> Self;
}

/// Bytes that are written.
#[derive(Debug, Default)]
pub struct Sink(pub Vec<u8>);

/// Bytes that are read.
#[derive(Debug)]
pub struct Source<'a> {
    rest: &'a [u8],
    is_damaged: bool,
}

impl Sink {
    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Adds some bytes and how many they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Adds a list.
    pub fn list<T: Persist>(&mut self, list: &[T]) {
        self.number(list.len() as u64);
        list.iter().for_each(|element| element.write(self));
    }
}

impl<'a> Source<'a> {
    /// Reads some bytes from their beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, is_damaged: false }
    }

    /// Whether there is more.
    pub fn has_more(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Whether something else was found than what was read.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// What is read from now on means nothing.
    fn fail(&mut self) {
        (self.rest, self.is_damaged) = (&[], true);
    }

    /// Takes a number of at most `most`.
    pub fn number(&mut self, most: u64) -> u64 {
        match self.rest.split_first_chunk().map(|(number, rest)| (u64::from_le_bytes(*number), rest)) {
            Some((number, rest)) if number <= most => {
                self.rest = rest;
                number
            }
            _ => {
                self.fail();
                0
            }
        }
    }

    /// Takes some bytes that were written with their number.
    pub fn bytes(&mut self) -> &'a [u8] {
        // A length that is a lie goes beyond what there is.
        let length = usize::try_from(self.number(u64::MAX)).unwrap_or(usize::MAX);
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            self.fail();
            return &[];
        };
        self.rest = rest;
        bytes
    }

    /// Takes a list of at most so many elements.
    pub fn list<T: Persist>(&mut self, most: usize) -> Vec<T> {
        // Each takes a byte at least: a length that is a lie reserves nothing.
        let length = self.number(most.min(self.rest.len()) as u64);
        (0..length).map(|_| T::read(self)).collect()
    }
}

/// Implements [`Persist`] for a struct, by its fields. Those behind a semicolon are not kept, and have a value of their own.
macro_rules! persist {
    ($type:ident { $($field:ident),+ $(; $other:ident: $value:expr)? }) => {
        impl $crate::persist::Persist for $type {
            fn write(&self, sink: &mut $crate::persist::Sink) {
                $($crate::persist::Persist::write(&self.$field, sink);)+
            }

            fn read(source: &mut $crate::persist::Source<'_>) -> Self {
                Self { $($field: $crate::persist::Persist::read(source),)+ $($other: $value)? }
            }
        }
    };
}
pub(crate) use persist;

/// Implements [`Persist`] for whole numbers.
macro_rules! persist_numbers {
    ($($type:ty),+) => {$(
        impl Persist for $type {
            fn write(&self, sink: &mut Sink) {
                sink.number((*self).into());
            }

            fn read(source: &mut Source<'_>) -> Self {
                Self::try_from(source.number(Self::MAX.into())).unwrap_or_default()
            }
        }
    )+};
}
persist_numbers!(u64, u32, u8);

impl Persist for bool {
    fn write(&self, sink: &mut Sink) {
        sink.number((*self).into());
    }

    fn read(source: &mut Source<'_>) -> Self {
        source.number(1) == 1
    }
}

impl Persist for Box<str> {
    fn write(&self, sink: &mut Sink) {
        sink.bytes(self.as_bytes());
    }

    fn read(source: &mut Source<'_>) -> Self {
        let bytes = source.bytes();
        std::str::from_utf8(bytes).map(Self::from).unwrap_or_else(|_| {
            source.fail();
            Self::default()
        })
    }
}

impl<T: Persist> Persist for Box<T> {
    fn write(&self, sink: &mut Sink) {
        (**self).write(sink);
    }

    fn read(source: &mut Source<'_>) -> Self {
        Self::new(T::read(source))
    }
}

impl<T: Persist> Persist for Option<T> {
    fn write(&self, sink: &mut Sink) {
        self.is_some().write(sink);
        if let Some(value) = self {
            value.write(sink);
        }
    }

    fn read(source: &mut Source<'_>) -> Self {
        bool::read(source).then(|| T::read(source))
    }
}

impl<T: Persist, U: Persist> Persist for (T, U) {
    fn write(&self, sink: &mut Sink) {
        self.0.write(sink);
        self.1.write(sink);
    }

    fn read(source: &mut Source<'_>) -> Self {
        (T::read(source), U::read(source))
    }
}
