/** What `docs/recipes` uses of BullMQ, which is not installed with the project. */
export interface Queue {
  getDelayed(start?: number, end?: number): Promise<Job[]>;
  remove(jobId: string): Promise<number>;
}

export interface Job {
  id?: string;
  name: string;
  data: any;
  timestamp: number;
  delay: number;
  repeatJobKey?: string;
}
