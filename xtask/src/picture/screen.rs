//! A terminal: what a program sends, as rows of coloured letters. It knows as much as `loop` uses.

/// How a letter looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// 1 to 7, as terminals number colours: red, green, yellow, blue, magenta, cyan, white; 0 is the usual one.
    pub colour: u8,
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
}

/// A row of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScreenRow {
    /// Its letters.
    pub letters: Vec<(char, Look)>,
}

impl ScreenRow {
    /// Its text without colours.
    #[must_use]
    pub fn text(&self) -> String {
        self.letters.iter().map(|(letter, _)| *letter).collect()
    }
}

/// A screen that grows downwards.
#[derive(Debug)]
pub struct Screen {
    columns: usize,
    rows: Vec<ScreenRow>,
    row: usize,
    column: usize,
    look: Look,
}

impl Screen {
    /// An empty one.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self { columns, rows: vec![ScreenRow::default()], row: 0, column: 0, look: Look::default() }
    }

    /// Takes what a program sends.
    pub fn feed(&mut self, text: &str) {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\r' => self.column = 0,
                '\n' => self.down(),
                '\u{8}' => self.column = self.column.saturating_sub(1),
                '\u{1b}' => self.control(&mut letters),
                letter if letter.is_control() => {}
                letter => self.put(letter),
            }
        }
    }

    /// All rows.
    #[must_use]
    pub fn rows(&self) -> Vec<ScreenRow> {
        self.rows.clone()
    }

    fn down(&mut self) {
        self.row += 1;
        if self.rows.len() <= self.row {
            self.rows.push(ScreenRow::default());
        }
    }

    fn put(&mut self, letter: char) {
        if self.column == self.columns {
            self.column = 0;
            self.down();
        }
        let row = &mut self.rows[self.row].letters;
        while row.len() <= self.column {
            row.push((' ', Look::default()));
        }
        row[self.column] = (letter, self.look);
        self.column += 1;
    }

    /// A sequence behind Escape: `[`, numbers, and a letter that says what it does.
    fn control(&mut self, letters: &mut std::str::Chars<'_>) {
        if letters.next() != Some('[') {
            return;
        }
        let mut numbers = String::new();
        for letter in letters.by_ref() {
            if letter.is_ascii_digit() || matches!(letter, ';' | '?') {
                numbers.push(letter);
                continue;
            }
            let number = numbers.parse::<usize>().ok();
            match letter {
                'm' => numbers.split(';').for_each(|word| self.style(word.parse().unwrap_or(0))),
                'K' if number == Some(2) => self.rows[self.row].letters.clear(),
                'K' => self.rows[self.row].letters.truncate(self.column),
                'A' => self.row = self.row.saturating_sub(number.unwrap_or(1)),
                'G' => self.column = number.unwrap_or(1).saturating_sub(1),
                _ => {}
            }
            return;
        }
    }

    fn style(&mut self, number: u8) {
        match number {
            0 => self.look = Look::default(),
            1 => self.look.bold = true,
            2 => self.look.dim = true,
            22 => self.look = Look { bold: false, dim: false, ..self.look },
            31..=37 => self.look.colour = number - 30,
            91..=97 => self.look.colour = number - 90,
            39 => self.look.colour = 0,
            _ => {}
        }
    }
}
