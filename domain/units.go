package domain

// UnitsOfMeasure are the units that the values of device resources may be in. They come from a file, not from the log.
type UnitsOfMeasure struct {
	// Source says where the units are defined whose quantity has no Source of its own.
	Source string
	// Units are by the quantity that they measure, such as "temperature".
	Units map[string]QuantityUnits
}

// QuantityUnits are the units of one quantity, as profiles write them: "C", "F".
type QuantityUnits struct {
	Source string
	Values []string
}

// Listed returns all units of all quantities.
func (u UnitsOfMeasure) Listed() map[string]bool {
	listed := map[string]bool{}
	for _, q := range u.Units {
		for _, unit := range q.Values {
			listed[unit] = true
		}
	}
	return listed
}
