// Package csvtext writes CSV as RFC 4180 has it: cells with commas between them, lines that end with CRLF, and quotes around a cell that
// needs them.
//
// Spreadsheets run a cell that begins like a formula. Such a cell has an apostrophe before its text, unless the text is a number: a
// spreadsheet shows the text then, and does not run it.
package csvtext

import (
	"bytes"
	"strconv"
	"strings"
)

// AppendRow appends a row.
func AppendRow(dst []byte, cells ...string) []byte {
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendCell(dst, cell)
	}
	return append(dst, "\r\n"...)
}

// AppendCell appends a cell.
func AppendCell(dst []byte, text string) []byte {
	guarded := IsFormula(text)
	if !guarded && !strings.ContainsAny(text, ",\"\r\n") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	if guarded {
		dst = append(dst, '\'')
	}
	return append(AppendPart(dst, []byte(text)), '"')
}

// AppendPart appends a part of a cell that is within quotes.
func AppendPart(dst, part []byte) []byte {
	for {
		at := bytes.IndexByte(part, '"')
		if at < 0 {
			return append(dst, part...)
		}
		dst = append(append(dst, part[:at+1]...), '"')
		part = part[at+1:]
	}
}

// IsFormula reports whether a spreadsheet may take a text for a formula: it begins with =, +, -, @, their full-width forms, a tab or an end
// of line, and is not a decimal number.
func IsFormula(text string) bool {
	const begins = "=+-@\t\r\n＝＋－＠"
	if at := strings.IndexAny(text, begins); at != 0 {
		return false
	}
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err != nil
}
