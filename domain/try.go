package domain

// Try runs f, which reads tables. A table that cannot answer for now, because the file under it is damaged, panics with an
// [Error] of code Unavailable: Try returns it. Other panics go on.
func Try(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = CannotAnswer(p); err == nil {
				panic(p)
			}
		}
	}()
	f()
	return nil
}

// CannotAnswer returns the error that a table panicked with which cannot answer for now, nil for any other panic.
func CannotAnswer(p any) error {
	if err, ok := p.(error); ok && CodeOf(err) == Unavailable {
		return err
	}
	return nil
}
