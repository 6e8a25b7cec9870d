import { Table } from "@mantine/core";
import type { ProcessList, ProcessEntry } from "../api/operation";
import { age } from "../servers/words";
import classes from "./Operation.module.css";
import { roleWords, shortName, slotWords } from "./words";

function Row({ one, now }: { one: ProcessEntry; now: number }) {
  const { about } = one;
  return (
    <Table.Tr>
      <Table.Th scope="row" title={one.id}>
        {shortName(one.id)}
      </Table.Th>
      <Table.Td>{roleWords(about.role, about.programs)}</Table.Td>
      <Table.Td>{slotWords(about.atWork, about.slots)}</Table.Td>
      <Table.Td>{about.host}</Table.Td>
      <Table.Td>{`${age(Math.max(0, now - one.seenAt))} ago`}</Table.Td>
      <Table.Td>{age(Math.max(0, now - about.startedAt))}</Table.Td>
      <Table.Td>{about.version}</Table.Td>
    </Table.Tr>
  );
}

/** Each process: what it does, how much of it is in use, and when it was last heard of. */
export function ProcessTable({ list }: { list: ProcessList }) {
  return (
    <div className={classes.wide} tabIndex={0} role="region" aria-label="Table of processes">
      <Table className={classes.table} verticalSpacing={5}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Process</Table.Th>
            <Table.Th>Does</Table.Th>
            <Table.Th>Slots in use</Table.Th>
            <Table.Th>Machine</Table.Th>
            <Table.Th>Last seen</Table.Th>
            <Table.Th>Up for</Table.Th>
            <Table.Th>Version</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {list.processes.map((one) => (
            <Row key={one.id} one={one} now={list.now} />
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
