//! Bar charts as drawings.

use maud::{Markup, html};

const WIDTH: usize = 640;
const HEIGHT: usize = 220;
/// Room for the numbers at the left, and for the labels below.
const LEFT: usize = 48;
const BELOW: usize = 36;
const TOP: usize = 10;

/// A bar, of parts on top of each other: each with its class and its value.
pub struct Bar<'a> {
    pub label: String,
    pub parts: Vec<(&'a str, usize)>,
    /// Whether it is the one that is advised.
    pub marked: bool,
}

/// Draws bars beside each other. The numbers stand in a table beside the chart; here they are for the eye.
pub fn bars(title: &str, below: &str, bars: &[Bar<'_>]) -> Markup {
    let sum = |bar: &Bar<'_>| bar.parts.iter().map(|(_, value)| value).sum::<usize>();
    let top = nice(bars.iter().map(sum).max().unwrap_or_default());
    let height = HEIGHT - TOP - BELOW;
    let y = |value: usize| TOP + height - height * value / top;
    let step = (WIDTH - LEFT) / bars.len().max(1);
    let width = (step * 3 / 4).clamp(1, 60);
    html! {
        svg.chart role="img" viewBox={"0 0 " (WIDTH) " " (HEIGHT)} aria-label=(title) {
            @for part in 0..=4 {
                @let value = top * part / 4;
                @if part == 0 || top >= 4 || part == 4 {
                    path.grid d={"M" (LEFT) " " (y(value)) "H" (WIDTH)} {}
                    text.number x=(LEFT - 6) y=(y(value) + 4) text-anchor="end" { (value) }
                }
            }
            @for (number, bar) in bars.iter().enumerate() {
                @let x = LEFT + number * step + (step - width) / 2;
                @for (place, (class, value)) in bar.parts.iter().enumerate() {
                    @let under = bar.parts.iter().take(place).map(|(_, value)| value).sum::<usize>();
                    @let (from, to) = (y(under), y(under + value));
                    // What is there can be seen, however little.
                    @if *value > 0 {
                        rect class=(class) x=(x) y=(to.min(from - 1)) width=(width) height=((from - to).max(1)) {
                            title { (bar.label) ": " (value) " " (class) }
                        }
                    }
                }
                text class={ "label" @if bar.marked { " marked" } } x=(x + width / 2) y=(HEIGHT - BELOW + 16) text-anchor="middle" { (bar.label) }
            }
            text.below x=((LEFT + WIDTH) / 2) y=(HEIGHT - 4) text-anchor="middle" { (below) }
        }
    }
}

/// A round number that is at least this large.
fn nice(most: usize) -> usize {
    let mut ten = 1;
    loop {
        if let Some(nice) = [1, 2, 4, 8].into_iter().map(|factor| factor * ten).find(|nice| *nice >= most) {
            return nice;
        }
        ten *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::nice;

    #[test]
    fn the_top_of_a_chart_is_a_round_number() {
        assert_eq!([0, 1, 3, 5, 9, 81, 250, 900].map(nice), [1, 1, 4, 8, 10, 100, 400, 1000]);
    }
}
