//! What a load thread costs: cycles, instructions, context switches, migrations.
