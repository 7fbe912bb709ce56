//! Bars, trends and lists for a screen full of rails.
//!
//! A widget here takes plain values (cells, labels, styles, fractions) and paints them into a buffer.
//! It knows no NIC, no unit and no rule; what a value means is decided by the program's views.
