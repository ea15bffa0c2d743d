package metadata

import (
	"ledge/domain"
	"ledge/handlers"
)

// unitsShape is the units of measure in answers; as TOML it has the form of a file of units.
type unitsShape struct {
	Source string                   `json:"source,omitempty" toml:"Source,omitempty"`
	Units  map[string]quantityShape `json:"units,omitempty" toml:"Units,omitempty"`
}

type quantityShape struct {
	Source string   `json:"source,omitempty" toml:"Source,omitempty"`
	Values []string `json:"values,omitempty" toml:"Values,omitempty"`
}

type unitsAnswer struct {
	handlers.Envelope
	UOM unitsShape `json:"uom"`
}

func shapeUnits(u domain.UnitsOfMeasure) unitsShape {
	shape := unitsShape{Source: u.Source, Units: make(map[string]quantityShape, len(u.Units))}
	for name, q := range u.Units {
		shape.Units[name] = quantityShape(q)
	}
	return shape
}
