//! Reading schedules: one directive a line, as `Display` prints them; `//` begins a comment.

use super::{Directive, PackLayout, Schedule, Tail};
use crate::buffer::Level;
use crate::tree::Kind;
use lawson_graph::syntax::{Cursor, Kind as TokenKind, Source};
use lawson_graph::{Error, Result};
use std::str::FromStr;

const DIRECTIVES: &str = "split, join, reorder, parallel, serial, unroll, dot, skip, jam, vector, peel, clip, decide, block, pack, stream and prefetch";

impl FromStr for Schedule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Schedule> {
        let mut reader = Reader { cursor: Cursor::new(Source { text, file: None }) };
        let mut directives = Vec::new();
        while reader.cursor.peek() != TokenKind::End {
            directives.push(reader.directive()?);
            if !reader.at_line_end() {
                return Err(reader.cursor.expected("the end of the line: one directive stands on each"));
            }
        }
        Ok(Schedule(directives))
    }
}

struct Reader<'a> {
    cursor: Cursor<'a>,
}

impl Reader<'_> {
    /// Whether nothing more stands on the line of the token taken last.
    fn at_line_end(&self) -> bool {
        let between = self.cursor.last().end..self.cursor.span().start;
        self.cursor.peek() == TokenKind::End || self.cursor.source.text[between].contains('\n')
    }

    fn directive(&mut self) -> Result<Directive> {
        let unknown = self.cursor.expected("a directive").help(format!("the directives are {DIRECTIVES}"));
        let (word, _) = self.cursor.word("a directive")?;
        Ok(match word {
            "split" => {
                let axis = self.name("an axis")?;
                let factor = self.number("the size of a tile")?;
                Directive::Split { axis, factor, tail: self.tail()? }
            }
            "join" => {
                let mut axes = vec![self.name("an axis")?];
                loop {
                    match self.axis_after("as")? {
                        Some(joined) => break Directive::Join { axes, joined },
                        None => {
                            axes.push(self.name("another axis, or `as` and a name for what they become")?)
                        }
                    }
                }
            }
            "reorder" => {
                let mut axes = vec![self.name("an axis")?, self.name("another axis")?];
                while !self.at_line_end() {
                    axes.push(self.name("an axis")?);
                }
                Directive::Reorder { axes }
            }
            "parallel" => Directive::Execute { axis: self.name("an axis")?, kind: Kind::Parallel },
            "serial" => Directive::Execute { axis: self.name("an axis")?, kind: Kind::Serial },
            "unroll" => Directive::Execute { axis: self.name("an axis")?, kind: Kind::Unroll },
            "dot" => Directive::Execute { axis: self.name("an axis")?, kind: Kind::Dot },
            "skip" => Directive::Execute { axis: self.name("an axis")?, kind: Kind::Skip },
            "jam" => Directive::Execute { axis: self.name("an axis")?, kind: Kind::Jam },
            "vector" => {
                let axis = self.name("an axis")?;
                Directive::Execute { axis, kind: Kind::Vector(self.number("the number of lanes")?) }
            }
            "peel" => {
                let axis = self.name("an axis")?;
                let (mut first, mut last) = (0, 0);
                while !self.at_line_end() {
                    let side = match self.cursor.eat_word("first") {
                        true => &mut first,
                        false if self.cursor.eat_word("last") => &mut last,
                        false => return Err(self.cursor.expected("`first=` or `last=`")),
                    };
                    self.cursor.expect("=")?;
                    *side = self.number("a number of iterations")?;
                }
                Directive::Peel { axis, first, last }
            }
            "clip" => Directive::Clip { axis: self.name("an axis")? },
            "decide" => Directive::Decide { axis: self.name("an axis")? },
            "block" => {
                let axis = self.name("an axis")?;
                let factor = self.number("the size of a block")?;
                let at = self.axis_after("at")?;
                Directive::Block { axis, factor, at, level: self.level()?.unwrap_or(Level::L2) }
            }
            "pack" => {
                let buffer = self.name("a buffer")?;
                let at = self.at_axis()?;
                let layout = self.layout()?;
                Directive::Pack { buffer, at, layout, level: self.level()?.unwrap_or(Level::L2) }
            }
            "stream" => Directive::Stream { buffer: self.name("a buffer")? },
            "prefetch" => {
                let buffer = self.name("a buffer")?;
                let at = self.at_axis()?;
                self.word("ahead")?;
                let ahead = self.number("a number of iterations")?;
                let of = self.axis_after("of")?;
                let by = self.axis_after("by")?;
                let whole = !self.at_line_end() && self.cursor.eat_word("whole");
                Directive::Prefetch {
                    buffer,
                    at,
                    ahead,
                    of,
                    by,
                    whole,
                    level: self.level()?.unwrap_or(Level::L1),
                }
            }
            _ => return Err(unknown),
        })
    }

    /// What follows must stand on the same line.
    fn same_line(&self, what: &str) -> Result<()> {
        match self.at_line_end() {
            true => Err(self.cursor.expected(&format!("{what} on the line of the directive"))),
            false => Ok(()),
        }
    }

    fn name(&mut self, what: &str) -> Result<String> {
        self.same_line(what)?;
        self.cursor.name(what).map(|(name, _)| name.into_owned())
    }

    /// The axis that may follow a word.
    fn axis_after(&mut self, word: &str) -> Result<Option<String>> {
        match !self.at_line_end() && self.cursor.eat_word(word) {
            true => self.name("an axis").map(Some),
            false => Ok(None),
        }
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if self.at_line_end() || !self.cursor.eat_word(word) {
            return Err(self.cursor.expected(&format!("`{word}`")));
        }
        Ok(())
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T> {
        self.same_line(what)?;
        let digits = self.cursor.source.slice(self.cursor.span());
        match (self.cursor.peek(), digits.parse()) {
            (TokenKind::Int, Ok(value)) => {
                self.cursor.advance();
                Ok(value)
            }
            _ => Err(self.cursor.expected(what)),
        }
    }

    /// All numbers up to the next word or the end of the line.
    fn numbers<T: FromStr>(&mut self, what: &str) -> Result<Vec<T>> {
        let mut out = Vec::new();
        while !self.at_line_end() && self.cursor.peek() == TokenKind::Int {
            out.push(self.number(what)?);
        }
        Ok(out)
    }

    fn at_axis(&mut self) -> Result<String> {
        self.word("at")?;
        self.name("an axis")
    }

    fn tail(&mut self) -> Result<Tail> {
        if self.at_line_end() {
            return Ok(Tail::Auto);
        }
        if self.cursor.eat_word("exact") {
            return Ok(Tail::Exact);
        }
        if self.cursor.eat_word("cover") {
            return Ok(Tail::Cover);
        }
        if self.cursor.eat_word("clip") {
            return Ok(Tail::Clip);
        }
        if self.cursor.eat_word("ladder") {
            let rungs = self.numbers("the size of a rung")?;
            return Ok(if self.cursor.eat_word("clip") {
                Tail::LadderClip(rungs)
            } else {
                Tail::Ladder(rungs)
            });
        }
        Err(self.cursor.expected("`exact`, `clip`, `cover` or `ladder`"))
    }

    fn layout(&mut self) -> Result<PackLayout> {
        if self.at_line_end() {
            return Ok(PackLayout::RowMajor);
        }
        if self.cursor.eat_word("order") {
            return Ok(PackLayout::Order(self.numbers("a dimension")?));
        }
        if self.cursor.eat_word("panels") {
            let dim = self.number("a dimension")?;
            return Ok(PackLayout::Panels { dim, width: self.number("the width of a panel")? });
        }
        Ok(PackLayout::RowMajor)
    }

    fn level(&mut self) -> Result<Option<Level>> {
        if self.at_line_end() || !self.cursor.eat_word("level") {
            return Ok(None);
        }
        let levels = [Level::L1, Level::L2];
        match levels.into_iter().find(|l| !self.at_line_end() && self.cursor.eat_word(l.name())) {
            Some(level) => Ok(Some(level)),
            None => Err(self.cursor.expected("`L1` or `L2`")),
        }
    }
}
