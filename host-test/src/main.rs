//! The command `loop-guard`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
