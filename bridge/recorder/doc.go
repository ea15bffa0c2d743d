// Package recorder puts on record what became of deliveries: in company, because each group costs an fsync that the
// requests of that moment feel, and until the log takes it.
package recorder
