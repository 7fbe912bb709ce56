//! Who uses the rails: process by rail with its CPUs, its memory, their distance, the verdict, and what mends it.

mod rows;

use super::groups::devices;
use super::page::Page;
use super::segments::{Segment, paint};
use super::{Theme, findings};
use crate::app::{Action, App};
use crate::rules::{Limits, Severity};
use probes::model::Rail;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use rows::Row;
use widgets::{clip, shorten, width};

/// Fewest lines for what is told of the selected row.
const LEAST_DETAIL: u16 = 6;
/// Fewest rows, where what is told of the selected one wants more room.
const LEAST_ROWS: u16 = 3;

/// What to do about the selected row.
pub fn advice(app: &App) -> Option<String> {
    let rows = rows::rows(app);
    let row = rows.get(app.line().min(rows.len().saturating_sub(1)))?;
    let worst = row.findings.iter().max_by_key(|finding| finding.severity)?;
    (!worst.advice.is_empty()).then(|| worst.advice.clone())
}

/// The rail of the selected row.
pub fn device(app: &App) -> Option<String> {
    let rows = rows::rows(app);
    rows.get(app.line().min(rows.len().saturating_sub(1))).map(|row| row.rail.device.clone())
}

/// A user of a rail, in a line.
pub struct UserOf {
    /// Who, where it runs and where its memory is, how far that is, and the verdict.
    pub text: String,
    /// The worst that was found of it.
    pub worst: Option<Severity>,
}

/// Who uses a rail, the worst first.
pub fn users_of(app: &App, rail: &Rail) -> Vec<UserOf> {
    let of_rail = rows::rows(app).into_iter().filter(|row| row.rail.device == rail.device);
    of_rail
        .map(|row| {
            let distance = row.distance.map_or("unknown".to_owned(), |distance| distance.to_string());
            let (cpus, memory) = (row.cpus_in_short(), row.memory_in_short());
            let who = match row.pid {
                Some(pid) => row.who.replacen(&format!(" {pid}"), &format!(" (PID {pid})"), 1),
                None => row.who.clone(),
            };
            let verdict = row.verdict(&app.how().limits);
            UserOf {
                text: format!("{who}: CPUs {cpus}, memory {memory}, distance {distance}: {verdict}"),
                worst: row.worst(),
            }
        })
        .collect()
}

/// The first row that is seen of these, and how many are: as many as leave room for what is told of the selected one.
fn window(app: &App, area: Rect, rows: &[Row]) -> (usize, u16) {
    let count = rows.len();
    let told =
        rows.get(app.line().min(count.saturating_sub(1))).map_or(0, |row| about(app, row, area.width).len());
    let told = u16::try_from(told).unwrap_or(u16::MAX).max(LEAST_DETAIL);
    let left = |detail: u16| area.height.saturating_sub(detail.saturating_add(2));
    let most = left(told).max(left(LEAST_DETAIL).min(LEAST_ROWS)).max(1);
    let height = u16::try_from(count).unwrap_or(u16::MAX).min(most);
    let selected = app.line().min(count.saturating_sub(1));
    (selected.saturating_sub(usize::from(height) / 2).min(count - usize::from(height)), height)
}

/// The row at a cell.
pub fn row_at(app: &App, area: Rect, cell: Position) -> Option<usize> {
    let (first, height) = window(app, area, &rows::rows(app));
    let below_heads = cell.y.checked_sub(area.y + 2).filter(|row| *row < height)?;
    Some(first + usize::from(below_heads))
}

/// Draws the table and what is to be said of the selected row; tells how many rows there are.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) -> usize {
    let rows = rows::rows(app);
    if rows.is_empty() {
        nobody(app, area, frame);
        return 0;
    }
    let theme = app.theme();
    let columns = Columns::of(area.width, &rows, &app.how().limits);
    let selected = app.line().min(rows.len() - 1);
    let count = rows.len();
    let (first, height) = window(app, area, &rows);
    title(app, &rows, Rect { height: 1, ..area }, frame);
    let heads = ["who", "rail", "at", "CPUs", "memory", "dist", "verdict"].map(str::to_owned);
    columns.put(&heads, [theme.dim(); 2], Rect { y: area.y + 1, height: 1, ..area }, frame, theme);
    for (y, (at, row)) in (area.y + 2..).zip(rows.iter().enumerate().skip(first).take(usize::from(height))) {
        let place = Rect { y, height: 1, ..area };
        let is_selected = at == selected;
        let text = if is_selected { theme.strong() } else { theme.plain() };
        let worst = row.worst();
        let style = worst.map_or(theme.plain(), |severity| theme.severity(severity));
        columns.put(&cells(app, row, worst, columns.0[1]), [text, style], place, frame, theme);
        if is_selected {
            frame.buffer_mut().set_string(area.x, y, theme.pick("▸", ">"), theme.strong());
        }
    }
    let below = area.y + 2 + height;
    let detail = Rect { y: below, height: area.bottom().saturating_sub(below), ..area };
    if count > usize::from(height) {
        let text = format!(
            "rows {}-{} of {count} {}",
            first + 1,
            first + usize::from(height),
            theme.pick("↕", "(j/k)")
        );
        let right = vec![Segment::new(text, theme.strong(), 0)];
        let row = Rect { height: detail.height.min(1), ..detail };
        paint(Vec::new(), right, row, frame.buffer_mut(), theme.symbols);
    }
    tell(app, about(app, &rows[selected], area.width), detail, frame);
    count
}

/// Draws what is told of the selected row; where not all of it has room, the last line says where it has.
fn tell(app: &App, mut lines: Vec<Line<'static>>, area: Rect, frame: &mut Frame) {
    let (theme, room) = (app.theme(), usize::from(area.height));
    if lines.len() > room && room > 0 {
        let left = lines.len() + 1 - room;
        lines.truncate(room - 1);
        let key = app.keys().first(Action::Open);
        let text =
            format!("{} {left} lines more: {key} opens the rail, which has it all", theme.pick("…", "~"));
        lines.push(Line::styled(text, theme.strong()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn cells(app: &App, row: &Row, worst: Option<Severity>, rail_cells: usize) -> [String; 7] {
    let verdict = row.verdict(&app.how().limits);
    let verdict = match worst {
        Some(severity) => format!("{} {verdict}", findings::word(severity)),
        None => verdict,
    };
    [
        row.who.clone(),
        shorten(&row.rail.device, &devices(app.shown().topology()), rail_cells, app.theme().symbols),
        row.rail.numa_node.map_or("N?".to_owned(), |node| format!("N{node}")),
        row.cpus_in_short(),
        row.memory_in_short(),
        row.distance.map_or("?".to_owned(), |distance| distance.to_string()),
        verdict,
    ]
}

/// Cells of each column; the verdict has the rest.
struct Columns([usize; 7]);

impl Columns {
    /// As wide as what stands in them; where that leaves the verdict too little, the longest texts give way, the first first.
    fn of<'a>(screen: u16, rows: &[Row<'a>], limits: &Limits) -> Self {
        let longest = |text: &dyn Fn(&Row<'a>) -> String, least: usize, most: usize| {
            rows.iter().map(|row| width(&text(row))).max().unwrap_or(0).clamp(least, most)
        };
        let mut cells = [
            longest(&|row| row.who.clone(), 8, 30),
            longest(&|row| row.rail.device.clone(), 6, 20),
            3,
            longest(&Row::cpus_in_short, 8, 30),
            longest(&Row::memory_in_short, 8, 18),
            4,
            0,
        ];
        let verdict = longest(&|row| format!("ERROR {}", row.verdict(limits)), 7, 28);
        let taken = |cells: &[usize; 7]| cells.iter().map(|cells| cells + 1).sum::<usize>();
        for (at, least) in [(0, 17), (3, 13), (4, 9), (1, 12)] {
            let over = (taken(&cells) + verdict).saturating_sub(usize::from(screen));
            cells[at] -= over.min(cells[at].saturating_sub(least));
        }
        cells[6] = usize::from(screen).saturating_sub(taken(&cells));
        Self(cells)
    }

    /// Paints a row behind the cursor's column; the last cell in the second style.
    fn put(
        &self,
        cells: &[String; 7],
        [style, last]: [Style; 2],
        row: Rect,
        frame: &mut Frame,
        theme: Theme,
    ) {
        let mut x = row.x + 1;
        for (at, (text, room)) in cells.iter().zip(self.0).enumerate() {
            let text = clip(&theme.text(text), room, theme.symbols);
            frame.buffer_mut().set_string(x, row.y, text, if at == 6 { last } else { style });
            x = x.saturating_add(u16::try_from(room + 1).unwrap_or(u16::MAX));
        }
    }
}

fn title(app: &App, rows: &[Row], area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let pids: std::collections::BTreeSet<_> = rows.iter().filter_map(|row| row.pid).collect();
    let threads = rows.iter().filter(|row| row.pid.is_none()).count();
    let mut parts = Vec::new();
    let several =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    if !pids.is_empty() {
        parts.push(several(pids.len(), "process", "processes"));
    }
    if threads > 0 {
        parts.push(several(threads, "thread of a load", "threads of a load"));
    }
    let bad = rows.iter().filter(|row| row.worst() >= Some(Severity::Warning)).count();
    let verdict = match bad {
        0 => Segment::new("none misplaced, as far as is known", theme.plain(), 1),
        bad => Segment::new(
            several(bad, "row needs mending", "rows need mending"),
            theme.severity(Severity::Warning),
            1,
        ),
    };
    let left = vec![Segment::new(format!("On the rails: {}", parts.join(", ")), theme.strong(), 0), verdict];
    let looked = Segment::new("N0 is NUMA node 0; distance 10 is local", theme.dim(), 2);
    paint(left, vec![looked], area, frame.buffer_mut(), theme.symbols);
}

/// What is known and found about one row, and what mends it.
fn about(app: &App, row: &Row, cells: u16) -> Vec<Line<'static>> {
    let theme = app.theme();
    let mut page = Page::new(cells, theme);
    page.heading("", "");
    page.heading(&format!("{} on {}", row.who, row.rail.device), &row.verdict(&app.how().limits));
    page.row("CPUs", &row.cpus_in_short(), theme.plain());
    page.row("memory", &row.memory_in_short(), theme.plain());
    for finding in &row.findings {
        let text = format!("{}: {}", finding.code, finding.message);
        page.row(findings::word(finding.severity), &text, theme.severity(finding.severity));
        if !finding.advice.is_empty() {
            page.row("", &format!("{} {}", theme.pick("→", "->"), finding.advice), theme.plain());
        }
    }
    if row.findings.iter().any(|finding| finding.advice.contains('`')) {
        let key = app.keys().first(Action::Copy);
        let text = format!(
            "{key} copies the command, if the terminal takes it (OSC 52; tmux: set -g set-clipboard on)"
        );
        page.row("", &text, theme.dim());
    }
    page.into_lines().into_iter().skip(1).collect()
}

/// Why nobody is on the list.
fn nobody(app: &App, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let host = app.shown().local();
    let mut page = Page::new(area.width, theme);
    match host.processes() {
        Some(_) => {
            page.heading("Nobody uses the rails", "no process has a queue pair or an open device file");
        }
        None => {
            page.heading("Who uses the rails is not known", "processes were not looked up in this session");
        }
    }
    for gap in host.topology().gaps.iter().filter(|gap| gap.probe == "processes") {
        page.row(&gap.subject, &gap.reason, theme.dim());
    }
    page.row(
        "",
        "On the node itself, `railscope pins` looks at every process, thread by thread.",
        theme.plain(),
    );
    frame.render_widget(Paragraph::new(page.into_lines()), area);
}
