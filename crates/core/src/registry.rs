//! Components by name.
//!
//! A folder of exchangeable components (congestion controls, channels, ...) holds one file for each
//! and registers it with one line of [`registry!`]. From that come the configuration enum with the
//! component's name as its tag (`[tcp.cc.reno]`), the list of names and `build`. In a scenario the bare
//! name stands for the component with its defaults (`cc = "reno"`); `scenario` writes it as a table. A component's
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
        #[schemars(transform = $crate::registry::or_bare_name)]
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

/// Adds to the schema of a folder's components that the bare name of one stands for it.
pub(crate) fn or_bare_name(schema: &mut schemars::Schema) {
    let Some(serde_json::Value::Array(variants)) = schema.get_mut("oneOf") else { return };
    let names = variants.iter().filter_map(|variant| variant["required"][0].as_str());
    let names: Vec<_> = names.map(|name| serde_json::Value::from(name.to_owned())).collect();
    let description = "The component with its defaults.";
    variants.push(serde_json::json!({ "type": "string", "enum": names, "description": description }));
}
