//! Components by name.
//!
//! A folder of exchangeable components (congestion controls, channels, ...) holds one file for each
//! and registers it with one line of [`registry!`]. From that come the configuration enum with the
//! component's name as its tag (`[tcp.cc.reno]`), the list of names and `build`. A component's
//! module offers a documented `Config` with defaults and `Config::build` taking what the folder's
//! `registry!` line says.

/// Declares the components of a folder; see the module documentation.
macro_rules! registry {
    (
        $(#[$meta:meta])*
        pub enum Config: build($($arg:ident: $arg_ty:ty),* $(,)?) -> $output:ty {
            $($variant:ident = $module:ident,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        // A scenario holds a few of them, and the largest one sets no pace.
        #[allow(clippy::large_enum_variant)]
        pub enum Config {
            $(
                #[doc = concat!("See `", stringify!($module), "`.")]
                $variant($module::Config),
            )*
        }

        impl Config {
            /// Names of everything registered here, as written in a scenario.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module),)*];

            /// The name of this component.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => stringify!($module),)* }
            }

            /// Every component with its default configuration.
            pub fn defaults() -> Vec<Self> {
                vec![$(Self::$variant($module::Config::default()),)*]
            }
        }

        $crate::registry::registry!(@build ($($arg),*) [$($arg: $arg_ty),*] $output, $($variant)*);
    };
    (@build $call:tt [$($signature:tt)*] $output:ty, $($variant:ident)*) => {
        impl Config {
            /// Makes the component.
            pub fn build(&self, $($signature)*) -> $output {
                match self { $(Self::$variant(config) => config.build $call,)* }
            }
        }
    };
}
pub(crate) use registry;
