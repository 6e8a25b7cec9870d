/** Return the machines that a person named, as they are written: "nas, 192.0.2.7:8080". */
export const hostsIn = (typed: string): string[] => [...new Set(typed.split(/[\s,;]+/).filter(Boolean))];
